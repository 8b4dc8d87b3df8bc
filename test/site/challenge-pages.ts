/** Pages that ask for what only their person can give, by what they ask for. */
export const CHALLENGES: readonly {
  readonly name: string;
  readonly asks: 'captcha' | 'code';
  readonly html: string;
}[] = [
  {
    name: 'reCAPTCHA',
    asks: 'captcha',
    html: '<iframe title=reCAPTCHA src="/recaptcha/api2/anchor?size=normal"></iframe>',
  },
  {
    name: 'hCaptcha',
    asks: 'captcha',
    html: '<iframe src="/newassets.hcaptcha.com/hcaptcha.html#frame=checkbox"></iframe>',
  },
  {
    name: 'Turnstile, whose frame no page sees',
    asks: 'captcha',
    html: '<form><div class="cf-turnstile" style="width:300px;height:65px"><input type=hidden name="cf-turnstile-response"></div></form>',
  },
  {
    name: 'letters to be read',
    asks: 'captcha',
    html: '<form><img src="/captcha.png?x=1" width=120 height=40 alt=Letters><input name=letters><button>Go</button></form>',
  },
  { name: 'a field for the letters', asks: 'captcha', html: '<input name="captchaCode"><button>Go</button>' },
  {
    name: 'a slider',
    asks: 'captcha',
    html: '<div id="px-captcha" style="width:300px;height:80px"><p>Press and hold</p><button>Hold</button></div>',
  },
  { name: 'a code by its purpose', asks: 'code', html: '<label>Code <input autocomplete="one-time-code"></label>' },
  { name: 'a code by its name', asks: 'code', html: '<input name="user[otp_attempt_otp]" type=tel>' },
  { name: 'six digits', asks: 'code', html: '<input name="otp-1" maxlength=1><input name="otp-2" maxlength=1>' },
  { name: 'a code that was sent', asks: 'code', html: '<input id="verificationCode" type=text>' },
  {
    name: 'a code in an open shadow root',
    asks: 'code',
    html: `<x-code></x-code><script>document.querySelector('x-code').attachShadow({ mode: 'open' }).innerHTML = '<input name="totp">'</script>`,
  },
  { name: 'a code in a frame', asks: 'code', html: `<iframe srcdoc="<input name=mfa_code>"></iframe>` },
];

const field = (attributes: string): string =>
  `<form><label>Field <input ${attributes}></label><button>Send</button></form>`;

/** Ordinary pages, most of which hold a word or an element that a careless look would take for a challenge. */
export const ORDINARY: readonly string[] = [
  '<h1>Shop</h1><a href="/cart">Cart</a>',
  '<form><input name=username autocomplete=username><input name=password type=password><button>Log in</button></form>',
  '<form role=search><input type=search name=q></form>',
  // The badge of a service that only watches.
  '<div class="grecaptcha-badge" id="recaptcha-badge"><iframe title=reCAPTCHA src="/recaptcha/api2/anchor?size=invisible"></iframe></div>',
  // The question of reCAPTCHA waits out of sight.
  '<div style="visibility:hidden;position:absolute;top:-10000px"><iframe src="/recaptcha/api2/bframe?k=1" width=400 height=580></iframe></div>',
  '<iframe src="/newassets.hcaptcha.com/hcaptcha.html#frame=checkbox-invisible"></iframe>',
  // A CAPTCHA that was solved.
  '<iframe title=reCAPTCHA src="/recaptcha/api2/anchor?size=normal"></iframe><textarea name="g-recaptcha-response" hidden>03AGdBq2</textarea>',
  `<div class=section id="what-is-a-captcha"><h2>What is a CAPTCHA?</h2><p>${'A test that tells people from machines. '.repeat(12)}</p><button>Copy</button></div>`,
  '<article><h1>CAPTCHAs compared</h1><img src="/captcha-example.png" alt="A CAPTCHA" width=200 height=60></article>',
  field('name=captcha_site_key'),
  '<label><input type=checkbox name=mfa_enabled> Ask for a code at each login</label>',
  field('name="footprint"'),
  field('name="robotPolicy"'),
  field('name="photoprint_size"'),
  field('name=security_code autocomplete=cc-csc'),
  field('name=promo_code'),
  field('name=postcode autocomplete=postal-code'),
  field('name=country_code type=tel'),
  field('name=otp type=hidden'),
  field('name=verified_email type=email'),
  '<table><tr><th>Step</th><th>otp</th></tr><tr><td>1</td><td>two-factor authentication</td></tr></table>',
  '<p>Enter the verification code that we sent you on the next page.</p><a href="/next">Next</a>',
];
