// Runs in a world of its own in a document: what of its roots asks for what only its person can give ('captcha', 'code'); null: nothing.
roots => {
  const LOOKED_AT =
    'iframe, input, img, canvas, awswaf-captcha, .geetest_holder, .cf-turnstile, :is(div, form)[id*="captcha" i]';
  /** Frames and hosts of the services that make CAPTCHAs; one that only watches, without a question, is `invisible`. */
  const SERVICE =
    /\/recaptcha\/.*(anchor|bframe)|hcaptcha\.com|challenges\.cloudflare\.com|arkoselabs\.com|funcaptcha\.com|captcha-delivery\.com/i;
  const WATCHES = /size=invisible|checkbox-invisible/i;
  const ANSWERS = 'textarea[name="g-recaptcha-response"], [name="h-captcha-response"], [name="cf-turnstile-response"]';
  const TYPED = new Set(['text', 'tel', 'number', 'password', 'search']);
  const CODE = new Set(['otp', 'totp', 'mfa', '2fa', 'onetime', 'verification', 'verificationcode', 'onetimecode']);
  const CODE_END = /^(otp|totp|mfa|2fa|code|pin|passcode|token|input|value|digit|verificationcode|onetimecode|\d+)$/;
  const CAPTCHA_END = /^(captcha|recaptcha|code|text|answer|input|response|word|solution|value)$/;
  const TEXT_MAX = 300;

  const words = text =>
    text
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .replace(/one[-_ ]time/gi, 'onetime')
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter(word => word !== '');

  function isShown(element) {
    const { width, height, right, bottom } = element.getBoundingClientRect();
    return (
      width > 1 &&
      height > 1 &&
      right > 0 &&
      bottom + scrollY > 0 &&
      element.checkVisibility({ visibilityProperty: true })
    );
  }

  function ofInput(input) {
    if (!TYPED.has(input.type) || input.disabled || input.readOnly) return null;
    if (/\bone-time-code\b/i.test(input.autocomplete)) return 'code';
    for (const named of [words(input.name), words(input.id)]) {
      const last = named.at(-1) ?? '';
      if (named.some(word => /^(re|h)?captcha$/.test(word)) && CAPTCHA_END.test(last)) return 'captcha';
      if (named.some(word => CODE.has(word)) && CODE_END.test(last)) return 'code';
    }
    return null;
  }

  /** Frames speak for themselves, and a text about CAPTCHAs is longer than one, or has a heading. */
  function isSmall(box) {
    if (box.querySelector('iframe, h1, h2, h3, h4') !== null) return false;
    const hasControl = box.querySelector('img, canvas, svg, input:not([type=hidden]), button, [role=slider]') !== null;
    return box.textContent.trim().length <= (hasControl ? TEXT_MAX : TEXT_MAX / 3);
  }

  const takesText = form => [...(form?.querySelectorAll('input') ?? [])].some(input => TYPED.has(input.type));

  function of(element) {
    switch (element.localName) {
      case 'input':
        return ofInput(element);
      case 'iframe':
        return (SERVICE.test(element.src) || /captcha/i.test(element.title)) && !WATCHES.test(element.src)
          ? 'captcha'
          : null;
      // Letters to be read are beside a field: elsewhere it is a picture of a CAPTCHA.
      case 'img':
      case 'canvas':
        return /captcha/i.test(`${element.id} ${element.getAttribute('src') ?? ''}`) &&
          takesText(element.closest('form'))
          ? 'captcha'
          : null;
      case 'div':
      case 'form':
        if (element.matches('.cf-turnstile, .geetest_holder')) return 'captcha';
        return isSmall(element) ? 'captcha' : null;
      default:
        return 'captcha';
    }
  }

  for (const root of roots) {
    const isAnswered = [...root.querySelectorAll(ANSWERS)].some(({ value }) => value !== '');
    for (const element of root.querySelectorAll(LOOKED_AT)) {
      const found = of(element);
      if (found !== null && !(found === 'captcha' && isAnswered) && isShown(element)) return found;
    }
  }
  return null;
};
