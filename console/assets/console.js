// node_modules/preact/dist/preact.mjs
var n;
var t$1;
var u$2;
var i$1;
var f$2;
var o$2;
var e$1;
var l$1;
var c$1;
var a$2;
var s$1;
var h$1 = Symbol.for("pv");
var p$1 = {};
var y$1 = [];
var v$1 = /^m(i|n|o|s|text|space)$/;
var w$1 = Array.isArray;
var d$1 = y$1.slice;
var _$1 = Object.assign;
function g$1(n) {
	n && n.parentNode && n.remove();
}
function m$1(r, u, i, f, o) {
	var e = {
		type: r,
		props: u,
		key: i,
		ref: f,
		__k: null,
		__: null,
		__b: 0,
		__e: null,
		__c: null,
		constructor: h$1,
		__v: o || ++t$1,
		__i: -1,
		__u: 0
	};
	return !o && n.vnode && n.vnode(e), e;
}
function $(n) {
	return n.children;
}
function x(n, t) {
	this.props = n, this.context = t, this.__g = 0;
}
function S(n, t) {
	if (null == t) return n.__ && S(n.__, n.__i + 1);
	for (var r; t < n.__k.length; t++) if ((r = n.__k[t]) && r.__e) return r.__e;
	return "function" != typeof n.type || n.props.__P ? null : S(n);
}
function C$1(t) {
	var r, u = t.__v, i = u.__e, f = [], o = [], e = t.__P;
	e && ((r = _$1({ constructor: h$1 }, u)).__v = u.__v + 1, n.vnode && n.vnode(r), z$1(e, r, u, t.__n, e.namespaceURI, 32 & u.__u ? [i] : null, f, i || S(u), 32 & u.__u, o), r.__v = u.__v, r.__.__k[r.__i] = r, E$1(f, r, o), u.__ = u.__e = null, r.__e != i && j$1(r));
}
function j$1(n) {
	if ((n = n.__) && n.__c && !n.props.__P) return n.__e = null, n.__k.some(function(t) {
		return t && (n.__e = t.__e);
	}), j$1(n);
}
function L(t) {
	(8 & t.__g || (t.__g |= 8, u$2.push(t), f$2++)) && i$1 == n.debounceRendering || ((i$1 = n.debounceRendering) || queueMicrotask)(H);
}
function H() {
	try {
		for (var n, t = 1; u$2.length;) u$2.length > t && u$2.sort(o$2), n = u$2.shift(), t = u$2.length, 8 & n.__g && C$1(n);
	} finally {
		(f$2 = u$2.length) && (i$1 || queueMicrotask)(H);
	}
}
function I(n, t, r, u, i, f, o, e, l, c, a) {
	var s, h, v, w, d, _, g = u.__k || y$1, k = t.length;
	for (l = q(r, t, g, l, k), s = 0; s < k; s++) null != (v = r.__k[s]) && (h = ~v.__i && g[v.__i] || p$1, v.__i = s, _ = z$1(n, v, h, i, f, o, e, l, c, a), w = v.__e, (h.ref != v.ref || 8 & h.__u) && (h.ref && G$1(h.ref, null, v, h), v.ref && a.push(v.ref, v.__c || w, v)), d = d || w, 4 & v.__u ? (l = A$1(v, l, n, !h.__v), h.__e && (h.__e = null)) : "function" == typeof v.type && void 0 !== _ ? l = _ : w && (l = w.nextSibling), v.__u &= -21);
	return r.__e = d, l;
}
function q(n, t, r, u, i) {
	var f, o, e, l, c, a, s, p, y, v = r.length, d = v, _ = 0, g = 0, k = n.__k = Array(i);
	for (f = 0; f < i; f++) null != (o = t[f]) && "boolean" != typeof o && "function" != typeof o ? ("object" != typeof o || o.constructor === String ? o = k[f] = m$1(null, o) : w$1(o) ? o = k[f] = m$1($, { children: o }) : o.constructor === h$1 && o.__b ? o = k[f] = m$1(o.type, o.props, o.key, o.ref, o.__v) : k[f] = o, l = f + _, o.__ = n, o.__b = n.__b + 1, e = null, ~(c = o.__i = P$1(o, r, l, d)) && (d--, (e = r[c]) && (e.__u |= 2)), e && e.__v ? (o.__u |= 16, c == l - 1 ? _-- : c == l + 1 ? _++ : c != l && (c > l ? _-- : _++, g = 1)) : (~c || (i > v ? _-- : i < v && _++), "function" != typeof o.type && (o.__u |= 4))) : k[f] = null;
	if (g) {
		for (a = [], s = [], f = 0; f < i; f++) if ((o = k[f]) && 16 & o.__u) {
			for (_ = 0, p = a.length; _ < p;) a[y = _ + p >> 1] < o.__i ? _ = y + 1 : p = y;
			a[_] = o.__i, s[f] = _ + 1;
		}
		for (_ = a.length; f--;) s[f] && (s[f] == _ ? _-- : k[f].__u |= 4);
	}
	if (d) for (f = 0; f < v; f++) !(e = r[f]) || 2 & e.__u || (e.__e == u && (u = S(e)), J(e, e));
	return u;
}
function A$1(n, t, r, u) {
	var i, f, o, e;
	if ("function" == typeof n.type) {
		if (n.props.__P) return t;
		if (i = n.__k) for (f = 0; f < i.length; f++) i[f] && (i[f].__ = n, t = A$1(i[f], t, r, !1));
		return t;
	}
	for (t && !t.parentNode && (t = S(n)) && !t.parentNode && (t = null), o = n.__e, e = t; e && 8 == e.nodeType;) e = e.nextSibling;
	for (o != e && (!u && r.moveBefore && o.parentNode ? r.moveBefore(o, t) : r.insertBefore(o, t || null)), t = o; (t = t && t.nextSibling) && 8 == t.nodeType && !t.data.startsWith("$s"););
	return t;
}
function P$1(n, t, r, u) {
	var i, f = n.key, o = n.type, e = t[r], l = e && !(2 & e.__u);
	if (null === e && null == f || l && f == e.key && o == e.type) return r;
	if (u > (l ? 1 : 0)) {
		for (i = r - 1; i >= 0; i--) if ((e = t[i]) && !(2 & e.__u) && f == e.key && o == e.type) return i;
		for (i = r + 1; i < t.length; i++) if ((e = t[i]) && !(2 & e.__u) && f == e.key && o == e.type) return i;
	}
	return -1;
}
function T$1(n, t, r) {
	r ??= "", "-" == t[0] ? n.setProperty(t, r) : n[t] = r;
}
function N(n, t, r, u, i) {
	var f, o;
	if ("style" == t) if ("string" == typeof r) n.style.cssText = r;
	else {
		if ("string" == typeof u && (n.style.cssText = u = ""), u) for (t in u) r && t in r || T$1(n.style, t);
		if (r) for (t in r) u && r[t] == u[t] || T$1(n.style, t, r[t]);
	}
	else if ("o" == t[0] && "n" == t[1]) "function" != typeof r && (r = null), "function" != typeof u && (u = null), (n.__e || (n.__e = {}))[t] = r, r && u || (o = a$2[t] || (a$2[t] = V(t)), (n.__a || (n.__a = {}))[t] = c$1, f = t != (t = t.replace(l$1, "$1")), (t = t.slice(2))[0] < "a" && (t = t.toLowerCase()), r ? n.addEventListener(t, o, f) : n.removeEventListener(t, o, f));
	else {
		if ("http://www.w3.org/2000/svg" == i) t = t.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
		else if ("width" != t && "height" != t && "href" != t && "list" != t && "form" != t && "tabIndex" != t && "download" != t && "rowSpan" != t && "colSpan" != t && "role" != t && "popover" != t && t in n) try {
			n[t] = null == r ? "" : r;
			return;
		} catch (n) {}
		if ("function" == typeof r) return;
		null == r || !1 === r && "-" != t[4] ? n.removeAttribute(t) : n.setAttribute(t, "popover" == t && 1 == r ? "" : r);
	}
}
function V(t) {
	return function(r) {
		var u = this.__e;
		if (u) {
			if (u = u[t], null == r[e$1]) r[e$1] = c$1++;
			else if (r[e$1] < this.__a[t]) return;
			return u(n.event ? n.event(r) : r);
		}
	};
}
function z$1(t, r, u, i, f, o, e, l, c, a) {
	var s, p, v, d, k, b, m, M, C, j, L, H, q, A, O, P, T, N, V = r.type;
	if (r.constructor !== h$1) return null;
	128 & u.__u && (c = 32 & u.__u, s = u.__c.__z) && (r.__u |= c, p = o = [], 8 == s.nodeType ? l = B$1(s, o) : o.push(s), l = o[0] || l), (s = n.__b) && s(r);
	n: if ("function" == typeof V) {
		v = e.length;
		try {
			if (M = r.props, C = (s = V.prototype) && s.render, j = (s = V.contextType) && i[s.__c], L = s ? j ? j.props.value : s.__ : i, (d = u.__c) ? (r.__c = d, 2 & d.__g && (d.__g |= 1)) : (C ? r.__c = d = new V(M, L) : (r.__c = d = new x(M, L), d.constructor = V, d.render = K), j && j.sub(d), d.state || (d.state = {}), d.__n = i, d.__g |= 8, d.__h = [], d.__k = []), C && (d.__s || (d.__s = d.state), V.getDerivedStateFromProps && (d.__s == d.state && (d.__s = _$1({}, d.__s)), _$1(d.__s, V.getDerivedStateFromProps(M, d.__s)))), k = d.props, b = d.state, d.__v = r, u.__c) {
				if (M !== k && C && !V.getDerivedStateFromProps && d.componentWillReceiveProps && d.componentWillReceiveProps(M, L), r.__v == u.__v && !(8 & d.__g) || !(4 & d.__g) && d.shouldComponentUpdate && !1 === d.shouldComponentUpdate(M, d.__s, L)) {
					r.__v != u.__v && (d.props = M, d.state = d.__s, d.__g &= -9), r.__e = u.__e, r.__k = u.__k, r.__k.some(function(n) {
						n && (n.__ = r);
					}), y$1.push.apply(d.__h, d.__k), d.__k = [], d.__h.length && e.push(d), l = S(u);
					break n;
				}
				d.componentWillUpdate && d.componentWillUpdate(M, d.__s, L), C && d.componentDidUpdate && d.__h.push(function() {
					d.componentDidUpdate(k, b, m);
				});
			} else C && !V.getDerivedStateFromProps && d.componentWillMount && d.componentWillMount(), C && d.componentDidMount && d.__h.push(d.componentDidMount);
			d.context = L, d.props = M, d.__P = t, d.__g &= -5, H = n.__r, q = C ? 25 : 0;
			do
				d.__g &= -9, H && H(r), s = d.render(d.props, d.state = d.__s, d.context);
			while (8 & d.__g && ++q < 25);
			C && (y$1.push.apply(d.__h, d.__k), d.__k = []), d.state = d.__s, d.getChildContext && (i = _$1({}, i, d.getChildContext())), C && u.__c && d.getSnapshotBeforeUpdate && (m = d.getSnapshotBeforeUpdate(k, b)), A = s && s.type === $ && null == s.key ? s.props.children : s, M.__P && (s = l, f = (t = M.__P).namespaceURI, c = o = null, u.props && u.props.__P != t && (u.__k.some(function(n) {
				n && J(n, n);
			}), u.__k = null), l = u.__k ? S(u, 0) : null), l = I(t, w$1(A) ? A : [A], r, u, i, f, o, e, l, c, a), M.__P && (r.__e = null, l = s), r.__u &= -161, p && p.some(g$1), d.__h.length && e.push(d), 1 & d.__g && (d.__g &= -4);
		} catch (t) {
			if (e.length = v, r.__v = null, c || o) if (t && t.then) {
				if (r.__u |= 128 | c, o) {
					for (~(T = o.indexOf(l || void 0)) || (T = o.length); (N = o[T - 1]) && 8 == N.nodeType;) T--;
					for (; T < o.length; T++) if (N = o[T]) if (o[T] = null, O) {
						if (N == P) break;
					} else {
						if (8 != N.nodeType) break;
						N.data.startsWith("$s") && (P = B$1(O = N));
					}
				}
				if (!O) {
					for (; l && 8 == l.nodeType && l.nextSibling;) l = l.nextSibling;
					O = l;
				}
				(s = B$1(O = r.__c.__z || (r.__c.__z = O))) ? (r.__e = O, l = s) : r.__e = l, l = l && l.nextSibling;
			} else o && o.some(g$1);
			else r.__e = u.__e;
			r.__k || (r.__k = u.__k || []), t && t.then || D$1(r), n.__e(t, r, u);
		}
	} else l = r.__e = F$1(u.__e, r, u, i, f, o, e, c, a, t);
	return (s = n.diffed) && s(r), l;
}
function B$1(n, t) {
	if (n && 8 == n.nodeType && n.data.startsWith("$s")) for (var r = 1; n = n.nextSibling;) {
		if (8 == n.nodeType) {
			if (n.data.startsWith("$s")) r++;
			else if (n.data.startsWith("/$s") && !--r) return n;
		}
		t && t.push(n);
	}
}
function D$1(n) {
	n && (n.__c && (n.__c.__g |= 4), n.__k && n.__k.some(D$1));
}
function E$1(t, r, u) {
	for (var i = 0; i < u.length;) G$1(u[i++], u[i++], u[i++]);
	n.__c && n.__c(r, t), t.some(function(r) {
		try {
			t = r.__h, r.__h = [], t.some(function(n) {
				n.call(r);
			});
		} catch (t) {
			n.__e(t, r.__v);
		}
	});
}
function F$1(t, r, u, i, f, o, e, l, c, a) {
	var s, h, y, _, k, b, m, M, $ = u.props || p$1, x = r.props, C = r.type;
	if ("svg" == C ? f = "http://www.w3.org/2000/svg" : "math" == C ? f = "http://www.w3.org/1998/Math/MathML" : f || (f = "http://www.w3.org/1999/xhtml"), o) {
		for (s = 0; s < o.length; s++) if ((k = o[s]) && (C ? k.localName == C : 3 == k.nodeType)) {
			t = k, o[s] = null;
			break;
		}
	}
	if (!t) {
		if (M = a.ownerDocument || document, !C) return M.createTextNode(x);
		t = M.createElementNS(f, C, x.is ? x : a), l && (n.__m && n.__m(r, o), l = !1), o = null;
	}
	if (C) {
		if (a = "template" == C && t.content || t, o = "textarea" == C && null != x.defaultValue ? null : o && d$1.call(a.childNodes), !l && o) for ($ = {}, s = 0; s < t.attributes.length; s++) $[(k = t.attributes[s]).name] = k.value;
		for (s in $) k = $[s], "dangerouslySetInnerHTML" == s ? y = k : "children" == s || s in x || "value" == s && "defaultValue" in x || "checked" == s && "defaultChecked" in x || N(t, s, null, k, f);
		for (s in x) k = x[s], "children" == s ? _ = k : "dangerouslySetInnerHTML" == s ? h = k : "value" == s ? b = k : "checked" == s ? m = k : l && "function" != typeof k || $[s] === k || N(t, s, k, $[s], f);
		h ? (l || y && (h.__html == y.__html || h.__html == t.innerHTML) || (t.innerHTML = h.__html), r.__k = []) : (y && (t.textContent = ""), ("foreignObject" == C || "http://www.w3.org/1998/Math/MathML" == f && v$1.test(C)) && (f = "http://www.w3.org/1999/xhtml"), I(a, w$1(_) ? _ : [_], r, u, i, f, o, e, o ? o[0] : u.__k && S(u, 0), l, c), o && o.some(g$1)), l && "textarea" != C || (s = "value", "progress" == C && null == b ? t.removeAttribute(s) : null == b || b === t[s] && ("progress" != C || b) || N(t, s, b, $[s], f), s = "checked", null != m && m != t[s] && N(t, s, m, $[s], f));
	} else $ === x || l && t.data == x || (t.data = x);
	return t;
}
function G$1(t, r, u, i) {
	try {
		"function" == typeof t ? r ? r.__x = t(r) || 1 : i && (i = i.__c || i.__e) && (r = i.__x) && (i.__x = null, "function" == typeof r ? r() : t(null)) : t.current = r;
	} catch (t) {
		n.__e(t, u);
	}
}
function J(t, r, u) {
	var i, f, o, e;
	if (n.unmount && n.unmount(t), !(i = t.ref) || i.current && i.current != t.__e || G$1(i, null, r, t), i = t.__c) {
		if (i.componentWillUnmount) try {
			i.componentWillUnmount();
		} catch (t) {
			n.__e(t, r);
		}
		i.__P = i.__n = null;
	}
	if (i = t.__k) for (e = 0; e < i.length; e++) i[e] && J(i[e], r, "function" != typeof t.type || u && !t.props.__P);
	!u && (i = t.__c) && (i = i.__z) && (f = B$1(i, o = [])) && (i == t.__e && o.some(g$1), g$1(f), g$1(i)), u || g$1(t.__e), t.__e = t.__c = t.__ = null;
}
function K(n, t, r) {
	return this.constructor(n, r);
}
function Q(t, r) {
	var u, i, f, o;
	n.__ && n.__(t, r), 9 == r.nodeType && (r = r.documentElement), i = (u = t && 32 & t.__u) ? null : r.__k, r.__k = m$1($, { children: [t] }), f = [], o = [], z$1(r, r.__k, i || p$1, p$1, r.namespaceURI, i ? null : r.firstChild ? d$1.call(r.childNodes) : null, f, i ? i.__e : r.firstChild, u, o), E$1(f, r.__k, o), r.__k.props.children = null;
}
function U(n) {
	function t(n) {
		var r, u;
		return this.getChildContext || (r = /* @__PURE__ */ new Set(), (u = {})[t.__c] = this, this.getChildContext = function() {
			return u;
		}, this.shouldComponentUpdate = function(n) {
			this.props.value != n.value && r.forEach(function(n) {
				n.__g |= 4, L(n);
			});
		}, this.sub = function(n) {
			r.add(n);
			var t = n.componentWillUnmount;
			n.componentWillUnmount = function() {
				r.delete(n), t && t.call(n);
			};
		}), n.children;
	}
	return t.__c = "__cC" + s$1++, t.__ = n, t.Provider = (t.Consumer = function(n, t) {
		return n.children(t);
	}).contextType = t, t;
}
n = { __e: function(n, t, r, u) {
	for (var i, o, e; t = t.__;) if ((i = t.__c) && !(1 & i.__g)) {
		i.__g |= 4;
		try {
			if ((e = (o = i.constructor) && o.getDerivedStateFromError) && i.setState(o.getDerivedStateFromError(n)), i.componentDidCatch && (i.componentDidCatch(n, u || {}), e = 1), e && 8 & i.__g) return void (i.__g |= 2);
		} catch (t) {
			n = t;
		}
	}
	throw f$2 = 0, n;
} }, t$1 = 0, x.prototype.setState = function(n, t) {
	var r = this.__s;
	r && r != this.state || (r = this.__s = _$1({}, this.state)), "function" == typeof n && (n = n(_$1({}, r), this.props)), n && (_$1(r, n), this.__v && (t && this.__k.push(t), L(this)));
}, x.prototype.forceUpdate = function(n) {
	this.__v && (this.__g |= 4, n && this.__h.push(n), L(this));
}, x.prototype.render = $, u$2 = [], f$2 = 0, o$2 = function(n, t) {
	return n.__v.__b - t.__v.__b;
}, e$1 = Symbol(), l$1 = /(PointerCapture)$|Capture$/i, c$1 = 0, a$2 = {}, s$1 = 0;
// node_modules/preact/hooks/dist/hooks.mjs
var t;
var r;
var u$1;
var i;
var o$1 = Object.is;
var f$1 = 0;
var c = [];
var e = [];
var a$1 = n;
var v = a$1.__b;
var l = a$1.__r;
var m = a$1.diffed;
var h = a$1.__c;
var s = a$1.unmount;
var p = a$1.__;
function y(n, t) {
	a$1.__h && a$1.__h(r, n, f$1 || t), f$1 = 0;
	var u = r.__H || (r.__H = {
		__: [],
		__h: []
	});
	return n >= u.__.length && u.__.push({}), u.__[n];
}
function d(n) {
	return f$1 = 1, _(G, n);
}
function _(n, u, i) {
	var f = y(t++, 2);
	if (f.t = n, !f.__c && (f.__ = [i ? i(u) : G(void 0, u), function(n) {
		var t = (f.__N || f.__)[0], r = f.t(t, n);
		o$1(t, r) || (f.__N = [r, f.__[1]], f.__c.setState({}));
	}], f.__c = r, !r.__f)) {
		r.__f = !0;
		var c = r.shouldComponentUpdate;
		r.shouldComponentUpdate = function(n, t, r) {
			var u = this.__H;
			if (!u) return !0;
			var i = !1, f = this.props != n;
			if (u.__.some(function(n) {
				n.__N && (i = !0, o$1(n.__[0], n.__N[0]) || (f = !0));
			}), c) {
				var e = c.call(this, n, t, r);
				return i ? e || f : e;
			}
			return !i || f;
		};
	}
	return f.__;
}
function A(n, u) {
	var i = y(t++, 3);
	!a$1.__s && E(i.__H, u) && (i.__P = !0, i.__ = n, i.u = u, r.__H.__h.push(i));
}
function F(n, u) {
	var i = y(t++, 4);
	!a$1.__s && E(i.__H, u) && (i.__P = !1, i.__ = n, i.u = u, r.__h.push(i));
}
function T(n) {
	return f$1 = 5, w(function() {
		return { current: n };
	}, []);
}
function w(n, r) {
	var u = y(t++, 7);
	return E(u.__H, r) && (u.__ = n(), u.__H = r), u.__;
}
function b(n, t) {
	return f$1 = 8, w(function() {
		return n;
	}, t);
}
function j(n) {
	var u = r.context[n.__c], i = y(t++, 9);
	return i.c = n, u ? (i.__ ?? (i.__ = !0, u.sub(r)), u.props.value) : n.__;
}
function P() {
	var n = y(t++, 11);
	if (!n.__) {
		for (var u = r.__v; !u.__m && u.__;) u = u.__;
		var i = u.__m || (u.__m = [0, 0]);
		n.__ = "P" + i[0] + "-" + i[1]++;
	}
	return n.__;
}
function g() {
	var n;
	do {
		for (; n = e.shift();) try {
			C(n);
		} catch (t) {
			a$1.__e(t, { __: (n = n.__P) && n.__v });
		}
		for (; n = c.shift();) {
			var t = n.__H;
			if (n.__P && t) try {
				t.__h.some(C), t.__h.some(D), t.__h = [];
			} catch (r) {
				t.__h = [], a$1.__e(r, n.__v);
			}
		}
	} while (e.length);
}
a$1.__b = function(n) {
	r = null, v && v(n);
}, a$1.__ = function(n, t) {
	n && t.__k && t.__k.__m && (n.__m = t.__k.__m), p && p(n, t);
}, a$1.__r = function(n) {
	l && l(n), t = 0;
	var i = (r = n.__c).__H;
	i && (u$1 == r ? r.__h = [] : (i.__h.some(C), i.__h.some(D), t = 0), i.__h = [], i.__.some(function(n) {
		n.__N && (n.__ = n.__N), n.u = n.__N = void 0;
	})), u$1 = r;
}, a$1.diffed = function(n) {
	m && m(n);
	var t = n.__c;
	t && t.__H && (t.__H.__h.length && B(c.push(t)), t.__H.__.some(function(n) {
		n.u && (n.__H = n.u);
	})), u$1 = r = null;
}, a$1.__c = function(n, t) {
	t.some(function(n) {
		try {
			n.__h.some(C), n.__h = n.__h.filter(function(n) {
				return !n.__ || D(n);
			});
		} catch (t) {
			n.__h = [function() {
				throw t;
			}];
		}
	}), h && h(n, t);
}, a$1.unmount = function(n) {
	s && s(n);
	var t, r, u = n.__c;
	u && u.__H && (u.__H.__.some(function(u) {
		try {
			if (u.__P && u.__c) {
				if (void 0 === r) {
					for (r = n.__; r && (!r.__c || !r.__c.__P);) r = r.__;
					r = r && r.__c;
				}
				u.__P = r, B(e.push(u));
			} else C(u);
		} catch (n) {
			t = n;
		}
	}), u.__H = void 0, t && a$1.__e(t, u.__v));
};
var k = "function" == typeof requestAnimationFrame;
function z(n) {
	var t, r = function() {
		clearTimeout(u), k && cancelAnimationFrame(t), setTimeout(n);
	}, u = setTimeout(r, 35);
	k && (t = requestAnimationFrame(r));
}
function B(n) {
	1 != n && i == a$1.requestAnimationFrame || ((i = a$1.requestAnimationFrame) || z)(g);
}
function C(n) {
	var t = r, u = n.__c;
	"function" == typeof u && (n.__c = void 0, u()), r = t;
}
function D(n) {
	var t = r;
	n.__c = n.__(), r = t;
}
function E(n, t) {
	return !n || n.length != t.length || t.some(function(t, r) {
		return !o$1(t, n[r]);
	});
}
function G(n, t) {
	return "function" == typeof t ? t(n) : t;
}
// contract/console.ts
/** Constants of the console without schemas: its pages import them. */
/** Routes of the console's server that are its own; all others under `/api` are the controller's. */
var CONSOLE_ROUTES = {
	/** `GET`: the ways to sign in. `POST {token}` signs in with a link, `POST {access_token}` with a token of the platform; `DELETE` signs out. */
	signIn: "/api/sign-in",
	/** `POST {access_token}`: whose token of the platform it is. Signs no one in: a stranger's link has a stranger's token. */
	account: "/api/sign-in/account",
	/** `GET` leads to the identity provider, and from it back to `oidcCallback`. */
	oidc: "/api/sign-in/oidc",
	oidcCallback: "/api/sign-in/oidc/callback",
	/** `POST` by the identity provider: OpenID Connect Back-Channel Logout. */
	oidcLogout: "/api/sign-in/oidc/logout",
	/** `GET`: who is signed in. */
	me: "/api/me",
	/** `POST` with a service token (audience `console-links`) makes a link. */
	links: "/api/links"
};
/**
* Rights of a person; each role includes those before it: a viewer sees their own sessions; an operator acts in them; an admin
* has everyone's, and the policies.
*/
var CONSOLE_ROLES = [
	"viewer",
	"operator",
	"admin"
];
/** Whether a role may do what needs another one. */
var mayAs = (role, needed) => CONSOLE_ROLES.indexOf(role) >= CONSOLE_ROLES.indexOf(needed);
// console/web/api.ts
/** The problem that a call was answered with. */
var Refused = class extends Error {
	status;
	errors;
	constructor(status, problem) {
		super(problem.detail ?? "The console does not answer. Check that the stack is running.");
		this.status = status;
		this.errors = problem.errors;
	}
};
/** Is notified when a call is answered with 401: the sign-in is over. */
var signedOut = new EventTarget();
/** Calls the console's server. Throws `Refused`, or the signal's reason. */
async function callConsole(method, path, body, signal) {
	let response;
	try {
		response = await fetch(`/api${path}`, {
			method,
			...body === void 0 ? {} : {
				body: JSON.stringify(body),
				headers: { "content-type": "application/json" }
			},
			...signal ? { signal } : {}
		});
	} catch (error) {
		signal?.throwIfAborted();
		throw error instanceof TypeError ? new Refused(0, {}) : error;
	}
	const text = await response.text();
	if (response.ok) return text === "" ? null : JSON.parse(text);
	if (response.status === 401) signedOut.dispatchEvent(new Event("signed-out"));
	throw new Refused(response.status, response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : {});
}
/** A path with its parts percent-encoded. */
var encodePath = (strings, ...parts) => strings.reduce((whole, text, at) => `${whole}${encodeURIComponent(parts[at - 1] ?? "")}${text}`);
// console/web/location.ts
var MOVED = "omicron-moved";
/** Shows another page without loading the document. */
function go(to, { replace = false } = {}) {
	if (replace) history.replaceState(null, "", to);
	else history.pushState(null, "", to);
	dispatchEvent(new Event(MOVED));
}
/** The address that is shown: path and query. */
function useLocation() {
	const [href, setHref] = d(location.href);
	A(() => {
		const read = () => setHref(location.href);
		addEventListener("popstate", read);
		addEventListener(MOVED, read);
		return () => {
			removeEventListener("popstate", read);
			removeEventListener(MOVED, read);
		};
	}, []);
	return new URL(href);
}
/** Follows a plain click on a link of the console without loading the document. */
function followLinks(event) {
	if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
	const link = event.target instanceof Element ? event.target.closest("a") : null;
	if (!link || link.origin !== location.origin || link.target !== "" || link.hasAttribute("download")) return;
	if (link.pathname.startsWith("/api/")) return;
	if (link.hash !== "" && link.pathname === location.pathname) return;
	event.preventDefault();
	go(link.pathname + link.search);
	scrollTo(0, 0);
}
// console/web/me.ts
/** The person who is signed in. Pages are shown when that is known. */
var MeContext = U({
	name: "",
	role: "viewer",
	user_id: null
});
/** Whether the person may do what needs this role. The server decides; this hides what it would refuse. */
var useMay = (needed) => mayAs(j(MeContext).role, needed);
/** The one user whose sessions the person has; null: everyone's. */
var useOwnUser = () => j(MeContext).user_id;
// node_modules/preact/jsx-runtime/dist/jsxRuntime.mjs
var f = Symbol.for("pv");
var o = 0;
Array.isArray;
function a(t, e, n$1, u, a, i) {
	e || (e = {});
	var c, l, p = e;
	if ("ref" in p && "function" != typeof t) for (l in p = {}, e) "ref" == l ? c = e[l] : p[l] = e[l];
	var s = {
		type: t,
		props: p,
		key: n$1,
		ref: c,
		__k: null,
		__: null,
		__b: 0,
		__e: null,
		__c: null,
		constructor: f,
		__v: --o,
		__i: -1,
		__u: 0
	};
	return (a || i) && (s.__source = a, s.__self = i), n.vnode && n.vnode(s), s;
}
// console/web/notices.tsx
/** A failure and what to do, read by a screen reader at once. */
var Failure = ({ text }) => text === void 0 ? null : /* @__PURE__ */ a("p", {
	class: "notice failure",
	role: "alert",
	children: text
});
/** A success. */
var Success = ({ text }) => /* @__PURE__ */ a("p", {
	class: text === void 0 ? "unseen" : "notice success",
	role: "status",
	children: text
});
/** In place of a list without entries: what would be here, and how it gets here. */
var Empty = ({ title, children }) => /* @__PURE__ */ a("div", {
	class: "empty",
	children: [/* @__PURE__ */ a("h2", { children: title }), children]
});
var Loading = ({ what }) => /* @__PURE__ */ a("p", {
	class: "muted",
	role: "status",
	children: [
		"Loading ",
		what,
		" …"
	]
});
// console/web/confirm.tsx
/** A button that asks before it acts; Escape takes the question back. */
function Confirm(props) {
	const { label, question, onConfirm } = props;
	const [state, setState] = d("idle");
	if (state !== "asking") return /* @__PURE__ */ a("button", {
		type: "button",
		class: "quiet",
		disabled: state === "acting",
		onClick: () => setState("asking"),
		children: state === "acting" ? `${label} …` : label
	});
	return /* @__PURE__ */ a("span", {
		class: "question",
		role: "group",
		"aria-label": question,
		onKeyDown: (event) => {
			if (event.key === "Escape") setState("idle");
		},
		children: [
			question,
			" ",
			/* @__PURE__ */ a("button", {
				type: "button",
				class: "danger",
				ref: (button) => button?.focus(),
				onClick: async () => {
					setState("acting");
					await onConfirm();
					setState("idle");
				},
				children: label
			}),
			" ",
			/* @__PURE__ */ a("button", {
				type: "button",
				class: "quiet",
				onClick: () => setState("idle"),
				children: "Cancel"
			})
		]
	});
}
// console/web/use-polled.ts
/**
* Reads at once, whenever `key` changes, and then every so often while the page is visible. `read` gets the value so far
* (undefined after a change of `key`), so that a list can grow.
*/
function usePolled(key, everyMs, read) {
	const [state, setState] = d({ key });
	const [asked, setAsked] = d(0);
	const latest = T(read);
	latest.current = read;
	const known = T(void 0);
	A(() => {
		const stop = new AbortController();
		let timer;
		const round = async () => {
			if (!document.hidden) try {
				const value = await latest.current(stop.signal, known.current?.key === key ? known.current.value : void 0);
				if (stop.signal.aborted) return;
				known.current = {
					key,
					value
				};
				setState({
					key,
					value
				});
			} catch (error) {
				if (stop.signal.aborted) return;
				setState((last) => ({
					...last.key === key ? last : { key },
					error: messageOf(error)
				}));
			}
			timer = setTimeout(round, everyMs);
		};
		round();
		return () => {
			stop.abort();
			clearTimeout(timer);
		};
	}, [
		key,
		everyMs,
		asked
	]);
	const refresh = b(() => setAsked((count) => count + 1), []);
	const current = state.key === key ? state : void 0;
	return {
		value: current?.value,
		error: current?.error,
		refresh
	};
}
var messageOf = (error) => error instanceof Error ? error.message : String(error);
// console/web/credential-form.tsx
/** Stores a credential, and where it may be filled. The fields are empty at first: stored values never come back. */
function CredentialForm({ userId, site, url = [], onSaved, onCancel }) {
	const [failure, setFailure] = d();
	const [isSaving, setSaving] = d(false);
	const [hasCertificate, setHasCertificate] = d(false);
	const hint = P();
	const save = async (form) => {
		const fields = new FormData(form);
		const text = (name) => String(fields.get(name) ?? "");
		const key = site ?? text("site").trim();
		setSaving(true);
		setFailure(void 0);
		try {
			const body = await credentialOf(fields);
			await callConsole("PUT", encodePath`/users/${userId}/credentials/${key}`, body);
			form.reset();
			setHasCertificate(false);
			onSaved(key);
		} catch (error) {
			const faults = error instanceof Refused ? error.errors : void 0;
			setFailure(faults?.map(({ path: at, message }) => `${at} ${message}`).join("; ") ?? messageOf(error));
		}
		setSaving(false);
	};
	return /* @__PURE__ */ a("form", {
		class: "form",
		"aria-label": site === void 0 ? "New credential" : `Credential of ${site}`,
		onSubmit: (event) => {
			event.preventDefault();
			save(event.currentTarget);
		},
		children: [
			site === void 0 && /* @__PURE__ */ a("label", { children: ["Site key", /* @__PURE__ */ a("input", {
				name: "site",
				required: true,
				maxLength: 64,
				pattern: "[A-Za-z0-9][A-Za-z0-9_.\\-]*",
				placeholder: "shop.example",
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", { children: ["Username", /* @__PURE__ */ a("input", {
				name: "username",
				required: !hasCertificate,
				maxLength: 4096,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", { children: ["Password", /* @__PURE__ */ a("input", {
				name: "password",
				type: "password",
				required: !hasCertificate,
				maxLength: 4096,
				autocomplete: "new-password"
			})] }),
			/* @__PURE__ */ a("label", { children: ["TOTP seed (optional)", /* @__PURE__ */ a("input", {
				name: "totp",
				type: "password",
				maxLength: 512,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a(CertificateFields, {
				isChosen: hasCertificate,
				onChosen: setHasCertificate
			}),
			/* @__PURE__ */ a("label", { children: ["May be filled on", /* @__PURE__ */ a("input", {
				name: "targets",
				defaultValue: url.join(" "),
				"aria-describedby": hint,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("p", {
				id: hint,
				class: "muted",
				children: "Origins such as https://accounts.example.com or registrable domains such as example.com, with a space between. Empty: where the site key is the page's domain, or a policy says. A policy can only narrow it."
			}),
			/* @__PURE__ */ a(Failure, { text: failure }),
			/* @__PURE__ */ a("p", {
				class: "actions",
				children: [/* @__PURE__ */ a("button", {
					type: "submit",
					disabled: isSaving,
					children: isSaving ? "Saving …" : site === void 0 ? "Add" : "Replace"
				}), onCancel && /* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: onCancel,
					children: "Cancel"
				})]
			})
		]
	});
}
/** The certificate of the files that were chosen; undefined: none were. */
async function readCertificate(chosen, passphrase) {
	const files = chosen.filter((each) => each instanceof File && each.size > 0);
	const [first] = files;
	if (first === void 0) return void 0;
	const phrase = passphrase === "" ? {} : { passphrase };
	const pem = (await Promise.all(files.map((file) => file.text()))).join("\n");
	if (pem.includes("-----BEGIN ")) return {
		certificate: pem,
		key: pem,
		...phrase
	};
	const bytes = new Uint8Array(await first.arrayBuffer());
	return {
		pkcs12: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")),
		...phrase
	};
}
function CertificateFields({ isChosen, onChosen }) {
	const hint = P();
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("label", { children: ["Client certificate (optional)", /* @__PURE__ */ a("input", {
			name: "certificate",
			type: "file",
			multiple: true,
			"aria-describedby": hint,
			onChange: (event) => onChosen((event.currentTarget.files?.length ?? 0) > 0)
		})] }),
		/* @__PURE__ */ a("p", {
			id: hint,
			class: "muted",
			children: "A PKCS#12 file (.p12, .pfx), or PEM files with the certificate and its key. The browser shows it to the site; no username is needed then."
		}),
		isChosen && /* @__PURE__ */ a("label", { children: ["Passphrase of the certificate (optional)", /* @__PURE__ */ a("input", {
			name: "passphrase",
			type: "password",
			maxLength: 4096,
			autocomplete: "off"
		})] })
	] });
}
/** The credential as the form has it. */
async function credentialOf(fields) {
	const text = (name) => String(fields.get(name) ?? "");
	const wanted = text("targets").split(/[\s,]+/).filter((each) => each !== "");
	const certificate = await readCertificate(fields.getAll("certificate"), text("passphrase"));
	return {
		...(text("username") !== "" || certificate === void 0) && {
			username: text("username"),
			password: text("password")
		},
		...certificate && { client_certificate: certificate },
		...wanted.length > 0 && { url: wanted },
		...text("totp") !== "" && { totp: text("totp") }
	};
}
// console/web/use-submission.ts
/** A form that asks the server something: each submission calls `ask` with its fields, and the answer stays until the next one. */
function useSubmission(ask) {
	const [answer, setAnswer] = d();
	const [failure, setFailure] = d();
	const [isRunning, setRunning] = d(false);
	const submit = async (fields) => {
		setAnswer(void 0);
		setFailure(void 0);
		setRunning(true);
		try {
			setAnswer(await ask(fields));
		} catch (error) {
			setFailure(messageOf(error));
		}
		setRunning(false);
	};
	return {
		answer,
		failure,
		isRunning,
		onSubmit: (event) => {
			event.preventDefault();
			submit(new FormData(event.currentTarget));
		}
	};
}
/** The text of a field, without the spaces around it. */
var typedIn = (fields, name) => String(fields.get(name)).trim();
// console/web/credential-test.tsx
/** Logs in to the site with a stored credential, in a browser that ends with the test, and shows where that led. */
function CredentialTestForm({ userId, site, filledOn, onClose }) {
	const [first = ""] = filledOn;
	const { answer: test, failure, isRunning, onSubmit } = useSubmission((fields) => callConsole("POST", encodePath`/users/${userId}/credentials/${site}/test`, { url: typedIn(fields, "url") }));
	return /* @__PURE__ */ a("form", {
		class: "form",
		"aria-label": `Test of ${site}`,
		onSubmit,
		children: [
			/* @__PURE__ */ a("label", { children: ["Page with the login form", /* @__PURE__ */ a("input", {
				name: "url",
				type: "url",
				required: true,
				defaultValue: first === "" || first.includes("://") ? first : `https://${first}/`,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("p", {
				class: "muted",
				children: "A browser starts, opens the page and logs in with the stored values. It is not recorded, and it ends with the test."
			}),
			/* @__PURE__ */ a("p", {
				class: test || isRunning ? `notice ${toneOf$2(test)}` : "unseen",
				role: "status",
				children: [isRunning ? "Starting a browser and logging in. This takes up to a minute …" : test?.message, test?.url && /* @__PURE__ */ a("span", {
					class: "long",
					children: [
						" The browser was at ",
						test.url,
						"."
					]
				})]
			}),
			test?.picture && /* @__PURE__ */ a("img", {
				class: "shot",
				src: `data:image/jpeg;base64,${test.picture}`,
				alt: "The page after the login was tried"
			}),
			/* @__PURE__ */ a(Failure, { text: failure }),
			/* @__PURE__ */ a("p", {
				class: "actions",
				children: [/* @__PURE__ */ a("button", {
					type: "submit",
					disabled: isRunning,
					children: "Log in as a test"
				}), /* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: onClose,
					children: "Close"
				})]
			})
		]
	});
}
var toneOf$2 = (test) => test === void 0 ? "" : test.status === "ok" ? "success" : "failure";
// console/web/use-users.ts
/** Ids of users who have sessions, for suggestions. */
function useUsers() {
	const { value } = usePolled("users", 3e4, async (signal) => {
		const { sessions } = await callConsole("GET", "/browser-sessions?limit=200", void 0, signal);
		return [...new Set(sessions.map((each) => each.user_id))].sort();
	});
	return value ?? [];
}
// console/web/user-choice.tsx
/** Asks which user a page is about. One who has their own sessions only is not asked. */
function UserChoice(props) {
	const { userId, label, onChoose } = props;
	const own = useOwnUser();
	const users = useUsers();
	A(() => {
		if (own !== null && userId !== own) onChoose(own);
	}, [own, userId]);
	if (own !== null) return null;
	return /* @__PURE__ */ a("form", {
		class: "filters",
		onSubmit: (event) => {
			event.preventDefault();
			onChoose(String(new FormData(event.currentTarget).get("user")).trim());
		},
		children: [
			/* @__PURE__ */ a("label", { children: [label, /* @__PURE__ */ a("input", {
				name: "user",
				list: "users",
				defaultValue: userId,
				autocomplete: "off"
			}, userId)] }),
			/* @__PURE__ */ a("datalist", {
				id: "users",
				children: users.map((user) => /* @__PURE__ */ a("option", { value: user }))
			}),
			/* @__PURE__ */ a("button", {
				type: "submit",
				children: "Show"
			})
		]
	});
}
// console/web/pages/credentials.tsx
/** The credentials of one user: which sites, under which names, and where each may be filled. Values are never shown. */
function CredentialsPage({ url }) {
	const userId = url.searchParams.get("user") ?? "";
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("h1", { children: "Credentials" }),
		/* @__PURE__ */ a(UserChoice, {
			userId,
			label: "User",
			onChoose: (chosen) => go(chosen === "" ? "/credentials" : `/credentials?${new URLSearchParams({ user: chosen })}`)
		}),
		userId === "" ? /* @__PURE__ */ a(Empty, {
			title: "Whose credentials?",
			children: /* @__PURE__ */ a("p", { children: "Enter the id of a user, as your platform knows it. Only agents of this user can use the credentials." })
		}) : /* @__PURE__ */ a(UserCredentials, { userId }, userId)
	] });
}
/** A user's credentials as they are now, the one whose form is open, and what became of the last change. */
function useCredentials(userId) {
	const known = usePolled(`credentials ${userId}`, 15e3, async (signal) => {
		const { sites } = await callConsole("GET", encodePath`/users/${userId}/credentials`, void 0, signal);
		return sites;
	});
	/** The credential whose form is open, and which one. */
	const [opened, setOpened] = d(null);
	const [done, setDone] = d();
	const [failure, setFailure] = d();
	const saved = (text) => {
		setDone(text);
		setFailure(void 0);
		setOpened(null);
		known.refresh();
	};
	const remove = (site) => async () => {
		try {
			await callConsole("DELETE", encodePath`/users/${userId}/credentials/${site}`);
			saved(`The credential of ${site} is deleted.`);
		} catch (error) {
			setFailure(messageOf(error));
		}
	};
	return {
		known,
		opened,
		setOpened,
		done,
		failure,
		saved,
		remove
	};
}
function UserCredentials({ userId }) {
	const { known, opened, setOpened, done, failure, saved, remove } = useCredentials(userId);
	const mayChange = useMay("operator");
	if (!known.value) return known.error ? /* @__PURE__ */ a(Failure, { text: known.error }) : /* @__PURE__ */ a(Loading, { what: "credentials" });
	const sites = known.value;
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a(Failure, { text: failure ?? known.error }),
		/* @__PURE__ */ a(Success, { text: done }),
		sites.length === 0 && /* @__PURE__ */ a(Empty, {
			title: `${userId} has no credential`,
			children: /* @__PURE__ */ a("p", { children: "Add one below. The agent writes its names; the browser gets the values, which no model sees." })
		}),
		sites.length > 0 && /* @__PURE__ */ a("ul", {
			class: "rows",
			children: sites.map(({ site, secret_names, client_certificate, url, filled_on, problem }) => /* @__PURE__ */ a("li", { children: [
				/* @__PURE__ */ a("strong", { children: site }),
				secret_names.length > 0 && /* @__PURE__ */ a("div", { children: [
					"The agent writes",
					" ",
					secret_names.map((name, at) => /* @__PURE__ */ a($, { children: [at > 0 && " and ", /* @__PURE__ */ a("code", { children: name })] })),
					"."
				] }),
				client_certificate === true && /* @__PURE__ */ a("div", { children: "The browser shows its client certificate to the site." }),
				/* @__PURE__ */ a("div", { children: problem === null ? `Filled on ${filled_on.join(", ")}.` : `Filled nowhere: ${problem}.` }),
				opened?.site === site && opened.form === "edit" && /* @__PURE__ */ a(CredentialForm, {
					userId,
					site,
					url,
					onSaved: () => saved(`The credential of ${site} is replaced.`),
					onCancel: () => setOpened(null)
				}),
				opened?.site === site && opened.form === "test" && /* @__PURE__ */ a(CredentialTestForm, {
					userId,
					site,
					filledOn: filled_on,
					onClose: () => setOpened(null)
				}),
				mayChange && opened?.site !== site && /* @__PURE__ */ a("p", {
					class: "actions",
					children: [
						/* @__PURE__ */ a("button", {
							type: "button",
							class: "quiet",
							"aria-label": `Edit ${site}`,
							onClick: () => setOpened({
								site,
								form: "edit"
							}),
							children: "Edit"
						}),
						secret_names.length > 0 && /* @__PURE__ */ a("button", {
							type: "button",
							class: "quiet",
							"aria-label": `Test ${site}`,
							onClick: () => setOpened({
								site,
								form: "test"
							}),
							children: "Test"
						}),
						/* @__PURE__ */ a(Confirm, {
							label: `Delete ${site}`,
							question: "Leases that start from now on will not have it. Delete it?",
							onConfirm: remove(site)
						})
					]
				})
			] }, site))
		}),
		mayChange && /* @__PURE__ */ a($, { children: [/* @__PURE__ */ a("h2", { children: "Add a credential" }), /* @__PURE__ */ a(CredentialForm, {
			userId,
			onSaved: (site) => saved(`The credential of ${site} is stored.`)
		}, sites.length)] })
	] });
}
// console/web/policy-test.tsx
/** Says which rule of a document decides a call, whether the document is saved or not. */
function PolicyTest({ policy }) {
	const { answer: verdict, failure, onSubmit } = useSubmission((fields) => callConsole("POST", "/policy-test", {
		policy: JSON.parse(policy),
		tool: typedIn(fields, "tool"),
		arguments: JSON.parse(typedIn(fields, "arguments") || "{}"),
		untrusted: fields.has("untrusted")
	}));
	return /* @__PURE__ */ a("form", {
		class: "form",
		"aria-labelledby": "policy-test",
		onSubmit,
		children: [
			/* @__PURE__ */ a("h2", {
				id: "policy-test",
				children: "Test a call"
			}),
			/* @__PURE__ */ a("label", { children: ["Tool", /* @__PURE__ */ a("input", {
				name: "tool",
				required: true,
				defaultValue: "browser_navigate",
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", { children: ["Arguments (JSON)", /* @__PURE__ */ a("input", {
				name: "arguments",
				defaultValue: "{\"url\": \"https://example.com\"}",
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", {
				class: "check",
				children: [/* @__PURE__ */ a("input", {
					type: "checkbox",
					name: "untrusted"
				}), "The agent has seen web content"]
			}),
			/* @__PURE__ */ a(Failure, { text: failure }),
			/* @__PURE__ */ a("p", {
				class: verdict ? `notice ${verdict.action === "allow" ? "success" : "failure"}` : "unseen",
				role: "status",
				children: verdict && `${verdict.action === "allow" ? "Allowed" : "Blocked"} by ${verdict.index === null ? "a default" : `tools[${verdict.index}]`}: ${verdict.reason}`
			}),
			/* @__PURE__ */ a("p", {
				class: "actions",
				children: /* @__PURE__ */ a("button", {
					type: "submit",
					children: "Test the call"
				})
			})
		]
	});
}
// console/web/schema-form.tsx
/** A form for a document of this schema. Rules that the schema does not have, such as patterns, are checked when it is saved. */
function SchemaForm(props) {
	const { schema, value, onChange } = props;
	return /* @__PURE__ */ a(Properties, {
		root: schema,
		schema: resolveSchema(schema, schema),
		value,
		onChange
	});
}
function resolveSchema(root, schema) {
	const name = schema.$ref?.replace("#/$defs/", "");
	return name === void 0 ? schema : root.$defs?.[name] ?? {};
}
/** The value of a new entry. */
function createBlank(root, given) {
	const schema = resolveSchema(root, given);
	if (schema.const !== void 0) return schema.const;
	if (schema.oneOf?.[0]) return createBlank(root, schema.oneOf[0]);
	if (schema.enum) return schema.enum[0];
	if (schema.type === "array") return [];
	if (schema.type === "object") return Object.fromEntries((schema.required ?? []).map((name) => [name, createBlank(root, schema.properties?.[name] ?? {})]));
	return schema.type === "boolean" ? false : "";
}
var HIDDEN = ["$schema"];
function Properties(props) {
	const { root, schema, value, onChange } = props;
	return /* @__PURE__ */ a($, { children: Object.entries(schema.properties ?? {}).filter(([name, each]) => !HIDDEN.includes(name) && each.const === void 0).map(([name, each]) => /* @__PURE__ */ a(Field, {
		root,
		schema: resolveSchema(root, each),
		name,
		value: value[name],
		onChange: (next) => {
			const { [name]: _, ...others } = value;
			onChange(next === void 0 ? others : {
				...others,
				[name]: next
			});
		}
	}, name)) });
}
function Field(props) {
	const { root, schema, name, value, onChange } = props;
	if (schema.enum) return /* @__PURE__ */ a("label", { children: [name, /* @__PURE__ */ a("select", {
		value: String(value ?? ""),
		onChange: (event) => onChange(event.currentTarget.value || void 0),
		children: [/* @__PURE__ */ a("option", {
			value: "",
			children: "–"
		}), schema.enum.map((each) => /* @__PURE__ */ a("option", {
			value: each,
			children: each.replaceAll("_", " ")
		}))]
	})] });
	if (schema.type === "boolean") return /* @__PURE__ */ a("label", {
		class: "check",
		children: [/* @__PURE__ */ a("input", {
			type: "checkbox",
			checked: value === true,
			onChange: (event) => onChange(event.currentTarget.checked || void 0)
		}), name]
	});
	if (schema.type === "array" && schema.items) {
		const items = resolveSchema(root, schema.items);
		return items.type === "object" || items.oneOf ? /* @__PURE__ */ a(List, {
			...props,
			schema: items
		}) : /* @__PURE__ */ a(Lines, {
			...props,
			schema: items
		});
	}
	if (schema.type === "object" && schema.additionalProperties) return /* @__PURE__ */ a(Entries, { ...props });
	if (schema.type === "object") return /* @__PURE__ */ a(Group, {
		title: name,
		children: /* @__PURE__ */ a(Properties, {
			root,
			schema,
			value: value ?? {},
			onChange
		})
	});
	return /* @__PURE__ */ a("label", { children: [name, /* @__PURE__ */ a("input", {
		inputMode: schema.type === "number" || schema.type === "integer" ? "numeric" : "text",
		value: String(value ?? ""),
		autocomplete: "off",
		onInput: (event) => onChange(read(schema, event.currentTarget.value))
	})] });
}
var Group = ({ title, children }) => /* @__PURE__ */ a("fieldset", {
	class: "group",
	children: [/* @__PURE__ */ a("legend", { children: title }), children]
});
/** The typed text, as the schema wants it; what is no number stays text, for the document's own check to name. */
function read(schema, typed) {
	if (typed === "") return void 0;
	const number = schema.type === "number" || schema.type === "integer" ? Number(typed) : NaN;
	return Number.isNaN(number) ? typed : number;
}
/** A list of words or numbers, one a line. Typed text stays as it is while it means the same. */
function Lines({ schema, name, value, onChange }) {
	const lines = Array.isArray(value) ? value.map(String) : [];
	const [typed, setTyped] = d("");
	const text = linesOf(typed).join("\n") === lines.join("\n") ? typed : lines.join("\n");
	return /* @__PURE__ */ a("label", { children: [
		name,
		" ",
		/* @__PURE__ */ a("span", {
			class: "muted",
			children: "one a line"
		}),
		/* @__PURE__ */ a("textarea", {
			rows: Math.max(2, lines.length + 1),
			spellcheck: false,
			value: text,
			onInput: (event) => {
				const next = linesOf(event.currentTarget.value);
				setTyped(event.currentTarget.value);
				onChange(next.length === 0 ? void 0 : next.map((line) => read(schema, line)));
			}
		})
	] });
}
var linesOf = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
/** A list of objects. */
function List({ root, schema, name, value, onChange }) {
	const entries = Array.isArray(value) ? value : [];
	const replace = (at, ...by) => onChange(entries.toSpliced(at, 1, ...by));
	return /* @__PURE__ */ a(Group, {
		title: name,
		children: [entries.map((entry, at) => /* @__PURE__ */ a(Group, {
			title: `${name} ${at + 1}`,
			children: [/* @__PURE__ */ a(Variant, {
				root,
				schema,
				name: "",
				value: entry,
				onChange: (next) => replace(at, next)
			}), /* @__PURE__ */ a("button", {
				type: "button",
				class: "quiet",
				onClick: () => replace(at),
				children: [
					"Remove ",
					name,
					" ",
					at + 1
				]
			})]
		})), /* @__PURE__ */ a("button", {
			type: "button",
			class: "quiet",
			onClick: () => onChange([...entries, createBlank(root, schema)]),
			children: ["Add to ", name]
		})]
	});
}
/** An object, or one of several kinds of it: they differ in the property that has one value in each. */
function Variant({ root, schema, value, onChange }) {
	const entry = value ?? {};
	if (!schema.oneOf) return /* @__PURE__ */ a(Properties, {
		root,
		schema,
		value: entry,
		onChange
	});
	const kinds = schema.oneOf;
	const [name = ""] = Object.entries(kinds[0]?.properties ?? {}).find(([, each]) => each.const !== void 0) ?? [];
	const kindOf = (kind) => String(kind.properties?.[name]?.const);
	const chosen = kinds.find((kind) => kindOf(kind) === entry[name]) ?? kinds[0] ?? {};
	return /* @__PURE__ */ a($, { children: [/* @__PURE__ */ a("label", { children: [name, /* @__PURE__ */ a("select", {
		value: kindOf(chosen),
		onChange: (event) => {
			const kind = kinds.find((each) => kindOf(each) === event.currentTarget.value) ?? {};
			onChange({
				...createBlank(root, kind),
				...pick(entry, kind),
				[name]: event.currentTarget.value
			});
		},
		children: kinds.map((kind) => /* @__PURE__ */ a("option", {
			value: kindOf(kind),
			children: kindOf(kind)
		}))
	})] }), /* @__PURE__ */ a(Properties, {
		root,
		schema: chosen,
		value: entry,
		onChange
	})] });
}
/** Fields that another kind has too, in the same form. */
var pick = (entry, { properties = {} }) => Object.fromEntries(Object.entries(entry).filter(([name, value]) => {
	const { type } = properties[name] ?? {};
	return type !== void 0 && type === (Array.isArray(value) ? "array" : typeof value);
}));
/** Lists under names of the person's own. */
function Entries({ root, schema, name, value, onChange }) {
	const entries = Object.entries(value ?? {});
	const items = schema.additionalProperties || {};
	const change = (at, ...by) => onChange(Object.fromEntries(entries.toSpliced(at, 1, ...by)));
	return /* @__PURE__ */ a(Group, {
		title: name,
		children: [entries.map(([key, entry], at) => /* @__PURE__ */ a(Group, {
			title: `${name} ${at + 1}`,
			children: [
				/* @__PURE__ */ a("label", { children: ["name", /* @__PURE__ */ a("input", {
					value: key,
					autocomplete: "off",
					onChange: (event) => change(at, [event.currentTarget.value, entry])
				})] }),
				/* @__PURE__ */ a(Field, {
					root,
					schema: items,
					name: "values",
					value: entry,
					onChange: (next) => change(at, [key, next ?? []])
				}),
				/* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: () => change(at),
					children: ["Remove ", key || `${name} ${at + 1}`]
				})
			]
		})), /* @__PURE__ */ a("button", {
			type: "button",
			class: "quiet",
			onClick: () => onChange({
				...Object.fromEntries(entries),
				"": []
			}),
			children: ["Add to ", name]
		})]
	});
}
// console/web/pages/policies.tsx
var NEW_POLICY = {
	version: 1,
	tools: []
};
var writePolicy = (policy) => JSON.stringify(policy, null, 2);
/** Undefined: the text is not that of an object. */
function documentOf(text) {
	try {
		const value = JSON.parse(text);
		return typeof value === "object" && value !== null ? value : void 0;
	} catch {
		return;
	}
}
/** The deployment's policy, or one user's: edit it, begin with a preset, test a call before it is saved. */
function PoliciesPage({ url }) {
	const userId = url.searchParams.get("user") ?? "";
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("h1", { children: "Policies" }),
		/* @__PURE__ */ a(UserChoice, {
			userId,
			label: "User (empty: the whole deployment)",
			onChoose: (chosen) => go(chosen === "" ? "/policies" : `/policies?${new URLSearchParams({ user: chosen })}`)
		}),
		/* @__PURE__ */ a(PolicyLayer, { userId }, userId)
	] });
}
function PolicyLayer({ userId }) {
	const at = userId === "" ? "/policy" : encodePath`/users/${userId}/policy`;
	const whose = userId === "" ? "The deployment" : userId;
	const stored = usePolled(`policy ${userId}`, 6e4, (signal) => callConsole("GET", at, void 0, signal));
	const presets = usePolled("presets", 36e5, (signal) => callConsole("GET", "/policy-presets", void 0, signal));
	const schema = usePolled("policy schema", 36e5, (signal) => callConsole("GET", "/policy-schema", void 0, signal));
	/** Null: as it is stored. */
	const [draft, setDraft] = d(null);
	const [errors, setErrors] = d([]);
	const [done, setDone] = d();
	if (!stored.value) return stored.error ? /* @__PURE__ */ a(Failure, { text: stored.error }) : /* @__PURE__ */ a(Loading, { what: "the policy" });
	const { policy } = stored.value;
	const text = draft ?? writePolicy(policy ?? NEW_POLICY);
	const edit = (next) => {
		setDraft(next);
		setErrors([]);
		setDone(void 0);
	};
	const change = async (success, work) => {
		setErrors([]);
		setDone(void 0);
		try {
			await work();
			setDraft(null);
			stored.refresh();
			setDone(success);
		} catch (error) {
			const found = error instanceof Refused ? error.errors : void 0;
			setErrors(found?.map((each) => `${each.path} ${each.message}`) ?? [messageOf(error)]);
		}
	};
	const save = () => change("Saved. Running leases obey it within seconds.", async () => callConsole("PUT", at, JSON.parse(text)));
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("p", { children: [
			policy === null ? `${whose} has no policy: what no other layer refuses is allowed.` : `${whose} has a policy.`,
			" ",
			"A narrower layer cannot allow what a wider one blocks."
		] }),
		/* @__PURE__ */ a("fieldset", {
			class: "choices",
			children: [/* @__PURE__ */ a("legend", { children: "Begin with a preset" }), presets.value?.presets.map(({ name, title, policy: preset }) => /* @__PURE__ */ a("button", {
				type: "button",
				class: "quiet",
				title,
				onClick: () => edit(writePolicy(preset)),
				children: name
			}, name))]
		}),
		/* @__PURE__ */ a(PolicyEditor, {
			text,
			schema: schema.value,
			isInvalid: errors.length > 0,
			onEdit: edit
		}),
		errors.length > 0 && /* @__PURE__ */ a("ul", {
			class: "notice failure",
			role: "alert",
			children: errors.map((error) => /* @__PURE__ */ a("li", { children: error }))
		}),
		/* @__PURE__ */ a(Success, { text: done }),
		/* @__PURE__ */ a("p", {
			class: "actions",
			children: [
				/* @__PURE__ */ a("button", {
					type: "button",
					disabled: draft === null,
					onClick: save,
					children: "Save"
				}),
				/* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					disabled: draft === null,
					onClick: () => setDraft(null),
					children: "Discard changes"
				}),
				policy !== null && /* @__PURE__ */ a(Confirm, {
					label: "Delete the policy",
					question: "Everything that only this policy blocks will be allowed. Delete it?",
					onConfirm: () => change("Deleted.", () => callConsole("DELETE", at))
				})
			]
		}),
		/* @__PURE__ */ a(PolicyTest, { policy: text })
	] });
}
/** The document as a form that its schema describes, or as JSON. */
function PolicyEditor(props) {
	const { text, schema, isInvalid, onEdit } = props;
	const [editor, setEditor] = d("form");
	const document = documentOf(text);
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("fieldset", {
			class: "choices",
			children: [/* @__PURE__ */ a("legend", {
				class: "unseen",
				children: "Edit as"
			}), ["form", "json"].map((each) => /* @__PURE__ */ a("label", { children: [/* @__PURE__ */ a("input", {
				type: "radio",
				name: "editor",
				checked: editor === each,
				onChange: () => setEditor(each)
			}), each === "form" ? "Form" : "JSON"] }))]
		}),
		editor === "json" && /* @__PURE__ */ a("label", {
			class: "editor",
			children: ["Policy document (JSON)", /* @__PURE__ */ a("textarea", {
				rows: 18,
				spellcheck: false,
				value: text,
				"aria-invalid": isInvalid,
				onInput: (event) => onEdit(event.currentTarget.value)
			})]
		}),
		editor === "form" && document === void 0 && /* @__PURE__ */ a(Failure, { text: "The document is not JSON, so there is no form for it. Correct it as JSON, or discard the changes." }),
		editor === "form" && document !== void 0 && schema && /* @__PURE__ */ a("div", {
			class: "form",
			children: /* @__PURE__ */ a(SchemaForm, {
				schema,
				value: document,
				onChange: (next) => onEdit(writePolicy(next))
			})
		})
	] });
}
// contract/preview.ts
/**
* Messages between an embedded preview and the page around it, by `postMessage`: a preview that is opened with
* `?admission=token` asks for a live token for each connection, since browsers send it no cookie inside another site.
*/
var PREVIEW_MESSAGES = {
	/** From the preview: `{type}`. */
	tokenWanted: "omicron.preview.token-wanted",
	/** To the preview: `{type, token}`, the answer of `POST .../live-token`; null: there is none now. */
	token: "omicron.preview.token"
};
// console/web/live/embedded.ts
/**
* Asks the page around this one for a live token; it may take as long as that page needs. Rejects where that page has none now, and with
* the signal's reason.
*/
async function tokenFromEmbedder(signal) {
	if (parent === window) throw new Error("no page is around this one");
	const { promise, resolve, reject } = Promise.withResolvers();
	const read = ({ source, data }) => {
		if (source !== parent || data?.type !== PREVIEW_MESSAGES.token) return;
		removeEventListener("message", read);
		if (typeof data.token === "string") resolve(data.token);
		else reject(/* @__PURE__ */ new Error("no token"));
	};
	addEventListener("message", read, { signal });
	signal.addEventListener("abort", () => reject(signal.reason), { once: true });
	parent.postMessage({ type: PREVIEW_MESSAGES.tokenWanted }, "*");
	return promise;
}
// contract/live-limits.ts
/** The WebSocket subprotocol of the live view: a viewer offers it, to a runner or controller together with its token. */
var LIVE_PROTOCOL = "omicron.live.v1";
/** A page cannot set headers of a WebSocket, and a URL is logged; Kubernetes passes bearer tokens the same way. */
var LIVE_TOKEN_PREFIX = "omicron.token.";
var liveTokenProtocol = (token) => `${LIVE_TOKEN_PREFIX}${token}`;
var LIVE_LIMITS = {
	/** A token opens one socket in this time. */
	tokenSeconds: 60,
	/** Viewers of one lease. */
	viewersMax: 20,
	/** Pictures that a viewer may have without having acknowledged them. Only the newest of those that follow waits. */
	credits: 2,
	picturesPerSecond: 15,
	/** Bounds of a picture, in pixels. */
	picture: {
		width: 1280,
		height: 720
	},
	/** One message of a viewer. */
	messageBytesMax: 14680064,
	/** Input messages of one viewer in a second; more close the socket. */
	inputsPerSecond: 1e3,
	/** Bytes that may wait for a viewer to read them. */
	unreadBytesMax: 8388608,
	/** Text that is typed, pasted or copied in one message, in UTF-16 code units. */
	textMax: 1e5,
	/** An address that a person goes to, in UTF-16 code units. */
	addressMax: 8192,
	/** The answer to a page's prompt, in UTF-16 code units. */
	answerMax: 1e4,
	/** Text of an input method before it is done, in UTF-16 code units. */
	compositionMax: 1e3,
	/** One turn of a wheel, in CSS pixels. */
	wheelMax: 1e4,
	/** Why a person takes control from another one, in UTF-16 code units. */
	reasonMax: 200,
	/** Files for one file chooser: how many, and all of them together before base64. */
	filesMax: 10,
	fileBytesMax: 10485760,
	/** `ping` comes at this interval: proxies close connections that are silent for 60 s. */
	pingSeconds: 20,
	/** A viewer that answers neither pictures nor pings for this long is closed. */
	silentSeconds: 30,
	/** Control returns to the agent after this time without input. */
	idleSeconds: 60,
	/** Control returns to the agent when its holder's connection has been gone this long. */
	lostSeconds: 10,
	/** The agent's calls that wait for the person, and how long each one does: below the 60 s of MCP clients. */
	waitingCallsMax: 8,
	waitingCallSeconds: 45
};
/** Why the runner closed a socket: codes of RFC 6455's private range. */
var LIVE_CLOSE = {
	badMessage: 4400,
	/** The token's right was withdrawn. */
	revoked: 4401,
	/** The viewer answered neither pictures nor pings. */
	silent: 4408,
	/** The lease has ended. */
	leaseEnded: 4410,
	tooManyInputs: 4429
};
// console/web/live/dialog.tsx
/** A dialog of a page. Only the person in control answers. */
function Dialog({ dialog, isMine, send }) {
	const { tab, type, text, value } = dialog;
	const [typed, setTyped] = d(value);
	const answer = (accept) => send({
		t: "answer",
		tab,
		accept,
		...type === "prompt" && accept ? { text: typed } : {}
	});
	const title = type === "beforeunload" ? "Leave the page?" : "The page says";
	return /* @__PURE__ */ a("section", {
		class: "notice",
		"aria-label": title,
		children: [
			/* @__PURE__ */ a("p", { children: [
				/* @__PURE__ */ a("strong", { children: title }),
				" ",
				/* @__PURE__ */ a("span", {
					class: "long",
					children: text
				})
			] }),
			type === "prompt" && /* @__PURE__ */ a("label", { children: ["Answer", /* @__PURE__ */ a("input", {
				value: typed,
				maxLength: LIVE_LIMITS.answerMax,
				disabled: !isMine,
				onInput: (event) => setTyped(event.currentTarget.value)
			})] }),
			/* @__PURE__ */ a("p", {
				class: "actions",
				children: [
					/* @__PURE__ */ a("button", {
						type: "button",
						disabled: !isMine,
						onClick: () => answer(true),
						children: type === "beforeunload" ? "Leave" : "OK"
					}),
					type !== "alert" && /* @__PURE__ */ a("button", {
						type: "button",
						class: "quiet",
						disabled: !isMine,
						onClick: () => answer(false),
						children: type === "beforeunload" ? "Stay" : "Cancel"
					}),
					!isMine && /* @__PURE__ */ a("span", {
						class: "muted",
						children: "The one who has control answers."
					})
				]
			})
		]
	});
}
// console/web/live/asked.tsx
/**
* Questions of pages to the person: dialogs and files. Over the picture, which must not move under a press. Only the
* person in control answers.
*/
function Asked({ live }) {
	const { dialogs, choosers, isMine } = live.state;
	return /* @__PURE__ */ a("div", {
		class: "asked",
		children: [dialogs.map((dialog) => /* @__PURE__ */ a(Dialog, {
			dialog,
			isMine,
			send: live.send
		}, dialog.tab)), isMine && choosers.map((chooser) => /* @__PURE__ */ a(Chooser, {
			chooser,
			live
		}, chooser.tab))]
	});
}
function Chooser({ chooser, live: { send, answered } }) {
	const { tab, multiple } = chooser;
	const [failure, setFailure] = d();
	const give = async (files) => {
		const tooMuch = whyTooMuch(files);
		setFailure(tooMuch);
		if (tooMuch !== void 0) return;
		send({
			t: "files",
			tab,
			files: await Promise.all(files.map(encodeFile))
		});
		answered(tab);
	};
	return /* @__PURE__ */ a("section", {
		class: "notice",
		"aria-label": "The page asks for files",
		children: [
			/* @__PURE__ */ a("label", { children: [
				"The page asks for ",
				multiple ? "files" : "a file",
				/* @__PURE__ */ a("input", {
					type: "file",
					multiple,
					onChange: (event) => give([...event.currentTarget.files ?? []])
				})
			] }),
			/* @__PURE__ */ a(Failure, { text: failure }),
			/* @__PURE__ */ a("p", {
				class: "actions",
				children: /* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: () => give([]),
					children: "Give none"
				})
			})
		]
	});
}
/** More than one message holds. */
function whyTooMuch(files) {
	if (files.length > LIVE_LIMITS.filesMax) return `Choose ${LIVE_LIMITS.filesMax} files at most.`;
	if (files.reduce((sum, { size }) => sum + size, 0) <= LIVE_LIMITS.fileBytesMax) return void 0;
	return `${files.length === 1 ? `${files[0]?.name} is` : "Together they are"} larger than ${LIVE_LIMITS.fileBytesMax / 1024 / 1024} MiB. Choose ${files.length === 1 ? "another file" : "fewer"}.`;
}
async function encodeFile(file) {
	const reader = new FileReader();
	const { promise, resolve, reject } = Promise.withResolvers();
	reader.onload = () => resolve(String(reader.result));
	reader.onerror = () => reject(reader.error);
	reader.readAsDataURL(file);
	const url = await promise;
	return {
		name: file.name,
		base64: url.slice(url.indexOf(",") + 1)
	};
}
// console/web/live/take-over.tsx
/** Takes control from another person, after a question; they read who did it and why. Escape takes the question back. */
function TakeOver({ from, name, send }) {
	const [isAsking, setAsking] = d(false);
	const [reason, setReason] = d("");
	if (!isAsking) return /* @__PURE__ */ a("button", {
		type: "button",
		class: "control",
		onClick: () => setAsking(true),
		children: "Take over"
	});
	return /* @__PURE__ */ a("form", {
		class: "take-over",
		"aria-label": `Take control from ${name}`,
		onSubmit: (event) => {
			event.preventDefault();
			const why = reason.trim();
			send({
				t: "take",
				from,
				...why === "" ? {} : { reason: why }
			});
		},
		onKeyDown: (event) => {
			if (event.key === "Escape") setAsking(false);
		},
		children: [
			/* @__PURE__ */ a("label", { children: [
				"Why (optional; ",
				name,
				" reads it)",
				/* @__PURE__ */ a("input", {
					ref: (input) => input?.focus(),
					maxLength: LIVE_LIMITS.reasonMax,
					value: reason,
					onInput: (event) => setReason(event.currentTarget.value)
				})
			] }),
			/* @__PURE__ */ a("button", {
				type: "submit",
				class: "danger",
				children: ["Take control from ", name]
			}),
			/* @__PURE__ */ a("button", {
				type: "button",
				class: "quiet",
				onClick: () => setAsking(false),
				children: "Cancel"
			})
		]
	});
}
/** Reports to viewers who has control, and from whom it was taken and why; in state `person`. */
function whoHasControl({ name, taken_from: from }, you) {
	if (from === null) return `${name} has control.`;
	const why = from.reason === null ? "." : `: “${from.reason}”`;
	return from.id === you ? `${name} took control from you${why}` : `${name} took control from ${from.name}${why}`;
}
// console/web/live/control-bar.tsx
/** Why control is the agent's again. */
var GIVEN_BACK = {
	released: "Control was handed back.",
	idle: "Control went back to the agent: there was no input for a minute.",
	lost: "Control went back to the agent: the connection was lost.",
	lease_ended: "The lease has ended."
};
/** A person is warned of the return of control from here on. */
var WARN_SECONDS = 20;
/** Shows who has control, with the buttons that change it. */
function ControlBar({ live }) {
	const { state, send } = live;
	const { control, isMine, mayControl, you } = state;
	const isOpen = state.connection.is === "open";
	const waitsForMe = control?.state === "pausing" && control.holder === you;
	return /* @__PURE__ */ a("div", {
		class: "control-bar",
		children: [/* @__PURE__ */ a("p", {
			role: "status",
			children: [
				/* @__PURE__ */ a("span", {
					class: `status ${isMine ? "ready" : ""}`,
					children: isOpen ? whoActs(state) : "no control"
				}),
				" ",
				isOpen ? describeControl(state) : connectionSentence(state),
				isMine && /* @__PURE__ */ a(IdleWarning, { idleAtMs: live.idleAtMs })
			]
		}), /* @__PURE__ */ a("p", {
			class: "actions",
			children: [
				mayControl && (isMine || waitsForMe ? /* @__PURE__ */ a("button", {
					type: "button",
					class: "control",
					onClick: () => send({ t: "release" }),
					children: isMine ? "Hand back" : "Cancel"
				}) : isOpen && control?.holder != null ? /* @__PURE__ */ a(TakeOver, {
					from: control.holder,
					name: control.name ?? "",
					send
				}, control.holder) : /* @__PURE__ */ a("button", {
					type: "button",
					class: "control",
					disabled: !isOpen,
					onClick: () => send({ t: "take" }),
					children: "Take control"
				})),
				live.mayChangeTransport && /* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					"aria-pressed": live.transport === "pictures",
					title: "Pictures by plain requests, for networks that block the stream",
					onClick: () => live.setTransport(live.transport === "stream" ? "pictures" : "stream"),
					children: "Pictures only"
				}),
				/* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: (event) => void expand(event.currentTarget),
					children: "Expand"
				})
			]
		})]
	});
}
/** To the whole screen, and back. */
async function expand(button) {
	if (document.fullscreenElement) await document.exitFullscreen();
	else await button.closest(".live")?.requestFullscreen();
}
function whoActs({ control, isMine }) {
	if (isMine) return "you";
	if (control?.state === "person") return control.name ?? "a person";
	return "the agent";
}
function describeControl({ control, isMine, you }) {
	if (!control) return "";
	const { state, holder, name, waiting, why } = control;
	const calls = waiting === 0 ? "" : ` ${waiting === 1 ? "One call" : `${waiting} calls`} of the agent ${waiting === 1 ? "waits" : "wait"}.`;
	if (isMine) return `You have control; the agent waits until you hand back.${calls}`;
	if (state === "person") return `${whoHasControl(control, you)}${calls}`;
	if (state === "pausing") return holder === you ? "You get control when the call of the agent that is running has ended." : `${name} gets control when the call of the agent that is running has ended.`;
	return `The agent acts on the browser.${why === null ? "" : ` ${GIVEN_BACK[why]}`}`;
}
function connectionSentence({ connection }) {
	switch (connection.is) {
		case "retrying": return `The connection was lost${connection.why === "" ? "" : ` (${connection.why})`}. Connecting again …`;
		case "ended": return `The live view has ended${connection.why === "" ? "" : `: ${connection.why.replace(/\.$/, "")}`}.`;
		default: return "Connecting to the browser …";
	}
}
/** Says in time that control goes back. Its own text, or a screen reader would read each second aloud. */
function IdleWarning({ idleAtMs }) {
	const left = () => Math.max(0, Math.round((idleAtMs() - performance.now()) / 1e3));
	const [seconds, setSeconds] = d(left);
	A(() => {
		const timer = setInterval(() => setSeconds(left()), 1e3);
		return () => clearInterval(timer);
	}, []);
	return seconds > WARN_SECONDS ? null : /* @__PURE__ */ a("span", {
		"aria-hidden": "true",
		children: [
			" Without input it goes back in ",
			seconds,
			" s."
		]
	});
}
// console/web/live/keyboard.ts
/** A key event while an input method works on it: its text comes by composition or input events. */
var PROCESSED_KEY = 229;
/** Left to the person's own browser. */
var LEFT_ALONE = /* @__PURE__ */ new Set([
	"F5",
	"F11",
	"F12"
]);
var LEFT_ALONE_WITH_CTRL = /* @__PURE__ */ new Set([
	"r",
	"l",
	"v"
]);
var modifiersOf = (event) => (event.altKey ? 1 : 0) + (event.ctrlKey ? 2 : 0) + (event.metaKey ? 4 : 0) + (event.shiftKey ? 8 : 0);
/**
* Sends what is typed into a text area: keys of any layout, compositions of input methods, what a phone's keyboard inserts, and
* pasted text. `onLeave` is called for Shift+Escape, by which the keyboard alone leaves the text area. The returned function lifts
* what is held and ends it.
*/
function sendKeys(area, send, onLeave) {
	const ended = new AbortController();
	const held = /* @__PURE__ */ new Map();
	const on = (name, listener) => area.addEventListener(name, listener, { signal: ended.signal });
	function key(kind, event) {
		const modifiers = event.getModifierState("AltGraph") ? event.shiftKey ? 8 : 0 : modifiersOf(event);
		const isText = [...event.key].length === 1 && (modifiers & 6) === 0;
		const text = event.key === "Enter" ? "\r" : isText ? event.key : void 0;
		send({
			t: "key",
			kind,
			key: event.key,
			code: event.code,
			key_code: event.keyCode & 255,
			location: event.location,
			repeat: event.repeat,
			modifiers,
			...kind === "down" && text !== void 0 ? { text } : {}
		});
	}
	function press(name, code, key_code) {
		const message = {
			t: "key",
			key: name,
			code,
			key_code,
			location: 0,
			repeat: false,
			modifiers: 0
		};
		send({
			...message,
			kind: "down",
			...name === "Enter" ? { text: "\r" } : {}
		});
		send({
			...message,
			kind: "up"
		});
	}
	function lift() {
		for (const event of held.values()) key("up", event);
		held.clear();
	}
	on("keydown", (event) => {
		if (event.isComposing || event.keyCode === PROCESSED_KEY || event.key === "Dead") return;
		if (event.key === "Escape" && event.shiftKey) {
			event.preventDefault();
			onLeave();
			return;
		}
		const command = event.ctrlKey || event.metaKey;
		const letter = event.key.toLowerCase();
		if (LEFT_ALONE.has(event.key) || command && LEFT_ALONE_WITH_CTRL.has(letter)) return;
		event.preventDefault();
		if (command && (letter === "c" || letter === "x")) send({ t: "copy" });
		if (command && letter === "c") return;
		held.set(event.code, event);
		key("down", event);
	});
	on("keyup", (event) => {
		if (!held.delete(event.code)) return;
		event.preventDefault();
		key("up", event);
	});
	on("compositionupdate", ({ data }) => {
		const text = data.slice(0, LIVE_LIMITS.compositionMax);
		send({
			t: "ime",
			text,
			selection_start: text.length,
			selection_end: text.length
		});
	});
	on("compositionend", ({ data }) => {
		if (data === "") send({
			t: "ime",
			text: "",
			selection_start: 0,
			selection_end: 0
		});
		else send({
			t: "text",
			text: data
		});
		area.value = "";
	});
	on("input", (event) => {
		const { inputType, data, isComposing } = event;
		if (isComposing || inputType === "insertCompositionText" || inputType === "insertFromComposition") return;
		if (inputType === "insertLineBreak" || inputType === "insertParagraph") press("Enter", "Enter", 13);
		else if (inputType.startsWith("deleteContentBackward")) press("Backspace", "Backspace", 8);
		else if (data) send({
			t: "text",
			text: data
		});
		area.value = "";
	});
	on("paste", (event) => {
		event.preventDefault();
		const text = event.clipboardData?.getData("text/plain").slice(0, LIVE_LIMITS.textMax) ?? "";
		if (text !== "") send({
			t: "text",
			text
		});
	});
	on("blur", lift);
	return () => {
		lift();
		ended.abort();
	};
}
// console/web/live/frame-input.ts
var clampWheel = (pixels) => Math.max(-LIVE_LIMITS.wheelMax, Math.min(LIVE_LIMITS.wheelMax, pixels));
/** Input that a hand makes faster than frames: the last move, and the sum of the turns of the wheel, wait for the next frame. */
function frameInput(send) {
	let lastMove;
	let wheel;
	let frame = 0;
	/** Input that waits for the frame is sent before later input. */
	function flush() {
		cancelAnimationFrame(frame);
		frame = 0;
		if (lastMove) send(lastMove);
		if (wheel) send(wheel);
		lastMove = void 0;
		wheel = void 0;
	}
	const soon = () => {
		if (frame === 0) frame = requestAnimationFrame(flush);
	};
	return {
		flush,
		move(message) {
			lastMove = message;
			soon();
		},
		turn(message) {
			const dx = clampWheel((wheel?.dx ?? 0) + message.dx);
			const dy = clampWheel((wheel?.dy ?? 0) + message.dy);
			wheel = {
				...message,
				dx,
				dy
			};
			soon();
		}
	};
}
// console/web/live/pointer.ts
var BUTTONS = [
	"left",
	"middle",
	"right",
	"back",
	"forward"
];
/** `MouseEvent.buttons`, from its lowest bit. */
var PRESSED = [
	"left",
	"right",
	"middle",
	"back",
	"forward"
];
/** For a wheel that counts lines or pages. */
var WHEEL_PX = [
	1,
	40,
	800
];
/** The place in the tab below a place in the window; beside the picture, the nearest in the tab. */
function tabPoint(canvas, { cssWidth, cssHeight }, { clientX, clientY }) {
	const { left, top, width, height } = canvas.getBoundingClientRect();
	const within = (value, max) => Math.round(Math.max(0, Math.min(value, Math.max(0, max - 1))));
	return {
		x: within((clientX - left) / width * cssWidth, cssWidth),
		y: within((clientY - top) / height * cssHeight, cssHeight)
	};
}
/**
* Sends what mouse, wheel and fingers do on the picture, moves at most once a frame. The returned function lifts what is held and ends
* it.
*/
function sendPointer({ canvas, send, size, onPress }) {
	const ended = new AbortController();
	const { signal } = ended;
	const held = /* @__PURE__ */ new Set();
	let isTouching = false;
	let last = {
		x: 0,
		y: 0
	};
	const frame = frameInput(send);
	const place = (event) => {
		last = tabPoint(canvas, size() ?? {
			cssWidth: 0,
			cssHeight: 0
		}, event);
		return last;
	};
	function mouse(kind, event, button) {
		const buttons = event.buttons & 31;
		const clicks = kind === "move" ? 0 : Math.min(3, Math.max(1, event.detail));
		return {
			t: "mouse",
			kind,
			...place(event),
			button,
			buttons,
			clicks,
			modifiers: modifiersOf(event)
		};
	}
	canvas.addEventListener("mousedown", (event) => {
		if (size() === void 0) return;
		event.preventDefault();
		onPress();
		frame.flush();
		const button = BUTTONS[event.button] ?? "left";
		held.add(button);
		send(mouse("down", event, button));
	}, { signal });
	addEventListener("mouseup", (event) => {
		const button = BUTTONS[event.button] ?? "left";
		if (!held.delete(button)) return;
		frame.flush();
		send(mouse("up", event, button));
	}, { signal });
	addEventListener("mousemove", (event) => {
		if (held.size === 0 && event.target !== canvas) return;
		const pressed = PRESSED.find((_, bit) => (event.buttons & 1 << bit) !== 0) ?? "none";
		frame.move(mouse("move", event, pressed));
	}, { signal });
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		const unit = WHEEL_PX[event.deltaMode] ?? 1;
		const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
		frame.turn({
			t: "wheel",
			...place(event),
			modifiers: modifiersOf(event),
			dx,
			dy
		});
	}, {
		signal,
		passive: false
	});
	canvas.addEventListener("contextmenu", (event) => event.preventDefault(), { signal });
	function touch(event) {
		event.preventDefault();
		const points = [...event.targetTouches].slice(0, 10).map((point) => ({
			id: point.identifier & 15,
			...place(point)
		}));
		const message = {
			t: "touch",
			kind: points.length === 0 ? "end" : event.type === "touchstart" ? "start" : "move",
			points
		};
		isTouching = points.length > 0;
		if (event.type === "touchmove") {
			frame.move(message);
			return;
		}
		frame.flush();
		if (event.type === "touchstart") onPress();
		send(message);
	}
	for (const name of [
		"touchstart",
		"touchmove",
		"touchend",
		"touchcancel"
	]) canvas.addEventListener(name, touch, {
		signal,
		passive: false
	});
	function lift() {
		frame.flush();
		for (const button of held) send({
			t: "mouse",
			kind: "up",
			...last,
			button,
			buttons: 0,
			clicks: 1,
			modifiers: 0
		});
		held.clear();
		if (isTouching) send({
			t: "touch",
			kind: "cancel",
			points: []
		});
		isTouching = false;
	}
	addEventListener("blur", lift, { signal });
	return () => {
		lift();
		ended.abort();
	};
}
// console/web/live/input.tsx
/** Takes mouse, fingers and keys while this page has control. */
function Input({ pictures, canvas, send, takesFocus }) {
	const area = T(null);
	F(() => {
		if (canvas.current === null || area.current === null) return;
		const keyboard = area.current;
		const focus = () => keyboard.focus({ preventScroll: true });
		const leave = () => keyboard.closest(".live")?.querySelector(".control")?.focus();
		const ends = [sendKeys(keyboard, send, leave), sendPointer({
			canvas: canvas.current,
			send,
			size: pictures.shown,
			onPress: focus
		})];
		if (takesFocus) focus();
		return () => {
			for (const end of ends) end();
		};
	}, [
		send,
		pictures,
		canvas
	]);
	return /* @__PURE__ */ a("textarea", {
		ref: area,
		class: "keys",
		"aria-label": "Keyboard of the browser; Shift+Escape leaves it",
		autocomplete: "off",
		autocapitalize: "off",
		spellcheck: false
	});
}
// console/web/live/painter.ts
function painter(canvas) {
	let shown;
	let newest;
	return {
		shown: () => shown,
		async paint(picture) {
			newest = picture;
			const bitmap = await createImageBitmap(new Blob([picture.jpeg])).catch(() => void 0);
			const target = canvas();
			if (bitmap !== void 0 && target !== null && picture === newest) {
				if (target.width !== bitmap.width || target.height !== bitmap.height) Object.assign(target, {
					width: bitmap.width,
					height: bitmap.height
				});
				target.getContext("2d")?.drawImage(bitmap, 0, 0);
				shown = picture;
			}
			bitmap?.close();
		}
	};
}
// console/web/live/picker.tsx
/** Rows of a list that are seen at once. */
var ROWS_MAX = 8;
/** The list or picker of a field that the picture lacks, below its field. A choice here is set in the page. */
function Picker({ picker: { tab, field }, pictures, send }) {
	const { kind } = field;
	const size = pictures.shown();
	if (size === void 0) return null;
	return /* @__PURE__ */ a("div", {
		class: "picker",
		style: {
			left: `${Math.max(0, field.x) / size.cssWidth * 100}%`,
			top: `${Math.max(0, field.y + field.height) / size.cssHeight * 100}%`
		},
		children: kind === "select" ? /* @__PURE__ */ a(Options, {
			tab,
			field,
			send
		}) : /* @__PURE__ */ a(Value, {
			tab,
			kind,
			field,
			send
		})
	});
}
function Options({ tab, field: { options, multiple }, send }) {
	return /* @__PURE__ */ a("select", {
		"aria-label": "Options of the page's list",
		multiple,
		size: Math.max(2, Math.min(ROWS_MAX, options.length)),
		onChange: (event) => {
			send({
				t: "pick",
				tab,
				options: [...event.currentTarget.selectedOptions].map(({ index }) => index)
			});
		},
		children: options.map(({ label, selected, disabled }, at) => /* @__PURE__ */ a("option", {
			selected,
			disabled,
			children: label
		}, at))
	});
}
function Value({ tab, kind, field, send }) {
	const { min, max, step } = field;
	const [choice, setChoice] = d({
		field,
		value: field.value
	});
	const chosen = choice.field === field ? choice.value : field.value;
	return /* @__PURE__ */ a("form", {
		class: "actions",
		onSubmit: (event) => {
			event.preventDefault();
			send({
				t: "pick",
				tab,
				value: chosen
			});
		},
		children: [/* @__PURE__ */ a("label", { children: [LABELS[kind], /* @__PURE__ */ a("input", {
			type: kind,
			value: chosen,
			min: min || void 0,
			max: max || void 0,
			step: step || void 0,
			onInput: (event) => setChoice({
				field,
				value: event.currentTarget.value
			})
		})] }), /* @__PURE__ */ a("button", {
			type: "submit",
			children: "Set"
		})]
	});
}
var LABELS = {
	date: "Date",
	time: "Time",
	"datetime-local": "Date and time",
	month: "Month",
	week: "Week",
	color: "Colour"
};
// console/web/live/address-bar.tsx
var TOO_LONG = `An address has ${LIVE_LIMITS.addressMax} characters at most.`;
/** Address of the shown tab. The person in control changes it. */
function AddressBar({ shown, isMine, send, children }) {
	const [edited, setEdited] = d();
	const nav = (to, label, sign) => /* @__PURE__ */ a("button", {
		type: "button",
		class: "quiet",
		"aria-label": label,
		title: label,
		disabled: !isMine,
		onClick: () => send({
			t: "nav",
			to
		}),
		children: sign
	});
	return /* @__PURE__ */ a("form", {
		class: "address",
		onSubmit: (event) => {
			event.preventDefault();
			if (edited?.trim()) send({
				t: "goto",
				url: edited.trim()
			});
			setEdited(void 0);
		},
		children: [
			nav("back", "Back", "←"),
			nav("forward", "Forward", "→"),
			nav("reload", "Reload", "↻"),
			children,
			/* @__PURE__ */ a("input", {
				"aria-label": "Address",
				title: shown?.title,
				autocomplete: "off",
				spellcheck: false,
				readOnly: !isMine,
				value: edited ?? shown?.url ?? "",
				onFocus: (event) => isMine && event.currentTarget.select(),
				onInput: (event) => {
					const { value } = event.currentTarget;
					const isTooLong = value.trim().length > LIVE_LIMITS.addressMax;
					event.currentTarget.setCustomValidity(isTooLong ? TOO_LONG : "");
					setEdited(value);
				},
				onBlur: () => setEdited(void 0)
			})
		]
	});
}
// console/web/live/tab-bar.tsx
/** The tabs of the browser, and where the shown one is. The person in control changes them. */
function TabBar({ live: { state, send } }) {
	const { tabs, isMine } = state;
	const shown = tabs.find((tab) => tab.shown);
	return /* @__PURE__ */ a("div", {
		class: "tab-bar",
		children: [/* @__PURE__ */ a("ul", {
			"aria-label": "Tabs",
			children: tabs.map((tab) => {
				const name = tab.title || tab.url;
				return /* @__PURE__ */ a("li", {
					class: tab.shown ? "shown" : "",
					children: [/* @__PURE__ */ a("button", {
						type: "button",
						class: "quiet",
						"aria-current": tab.shown,
						title: tab.url,
						disabled: !isMine,
						onClick: () => send({
							t: "tab",
							id: tab.id,
							do: "show"
						}),
						children: name
					}), isMine && tabs.length > 1 && /* @__PURE__ */ a("button", {
						type: "button",
						class: "quiet close",
						"aria-label": `Close ${name}`,
						onClick: () => send({
							t: "tab",
							id: tab.id,
							do: "close"
						}),
						children: "×"
					})]
				}, tab.id);
			})
		}), /* @__PURE__ */ a(AddressBar, {
			shown,
			isMine,
			send
		})]
	});
}
// contract/live-picture.ts
var VERSION = 1;
var HEADER_BYTES = 20;
var KINDS = ["screencast", "screenshot"];
/** Undefined: not a picture of this version. */
function decodePicture(message) {
	const bytes = message instanceof Uint8Array ? message : new Uint8Array(message);
	if (bytes.length < HEADER_BYTES) return void 0;
	const header = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
	const kind = KINDS[header.getUint8(1)];
	if (header.getUint8(0) !== VERSION || kind === void 0) return void 0;
	return {
		kind,
		tab: header.getUint16(2, true),
		seq: header.getUint32(4, true),
		atMs: header.getFloat64(8, true),
		cssWidth: header.getUint16(16, true),
		cssHeight: header.getUint16(18, true),
		jpeg: bytes.subarray(HEADER_BYTES)
	};
}
/** A picture by HTTP, beside its JPEG and its number as the ETag: its tab, and that tab's size in CSS pixels. */
var PICTURE_HEADERS = {
	tab: "x-omicron-tab",
	width: "x-omicron-width",
	height: "x-omicron-height"
};
// console/web/live/socket.ts
var NO_TOKEN = "the page around this view has no live token for it";
var RETRY_MS$1 = {
	first: 200,
	max: 5e3
};
/** Two pings that did not come. */
var SILENT_MS = 2.25 * LIVE_LIMITS.pingSeconds * 1e3;
/** Whether the session has another lease, whose browser is shown then, is looked for this often. */
var NEXT_LEASE_MS = 5e3;
/** Opens the live view of a session's browser, again and again until the sign-in ends. */
function openLiveSocket(options) {
	const { sessionId, role, admit, onMessage, onPicture, onConnection } = options;
	const url = `${location.origin.replace(/^http/, "ws")}/api${encodePath`/browser-sessions/${sessionId}`}/live?role=${role}`;
	let socket;
	let attempts = 0;
	/** The lease has ended: nothing else is sent until the next one has begun. */
	let isOver = false;
	let timer;
	const closed = new AbortController();
	function send(message) {
		if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
	}
	async function open() {
		if (!isOver) onConnection({ is: "connecting" });
		const token = await admit?.(closed.signal);
		if (closed.signal.aborted) return;
		const mine = new WebSocket(url, token === void 0 ? LIVE_PROTOCOL : [LIVE_PROTOCOL, liveTokenProtocol(token)]);
		mine.binaryType = "arraybuffer";
		socket = mine;
		mine.onmessage = ({ data }) => {
			if (socket !== mine) return;
			clearTimeout(timer);
			timer = setTimeout(() => lost(mine, 1006, ""), SILENT_MS);
			if (typeof data === "string") read(JSON.parse(data));
			else show(data);
		};
		mine.onclose = ({ code, reason }) => lost(mine, code, reason);
	}
	function read(message) {
		if (message.t === "ping") send({ t: "pong" });
		if (message.t === "hello") {
			attempts = 0;
			isOver = false;
			onConnection({ is: "open" });
		}
		onMessage(message);
	}
	function show(data) {
		const picture = decodePicture(data);
		if (picture !== void 0) onPicture(picture).then(() => send({
			t: "ack",
			seq: picture.seq
		}));
	}
	function lost(which, code, why) {
		if (closed.signal.aborted || socket !== which) return;
		clearTimeout(timer);
		socket = void 0;
		which.close();
		if (code === LIVE_CLOSE.revoked && admit === void 0) signedOut.dispatchEvent(new Event("signed-out"));
		if (code === LIVE_CLOSE.revoked || code === LIVE_CLOSE.leaseEnded) onConnection({
			is: "ended",
			why
		});
		if (code === LIVE_CLOSE.revoked) return;
		isOver ||= code === LIVE_CLOSE.leaseEnded;
		retry(why);
	}
	function retry(why) {
		if (isOver) {
			timer = setTimeout(start, NEXT_LEASE_MS);
			return;
		}
		onConnection({
			is: "retrying",
			why
		});
		const waitMs = Math.min(RETRY_MS$1.max, RETRY_MS$1.first * 2 ** attempts);
		attempts += 1;
		timer = setTimeout(start, waitMs * (.5 + Math.random() / 2));
	}
	function start() {
		open().catch(() => {
			if (!closed.signal.aborted) retry(NO_TOKEN);
		});
	}
	start();
	return {
		send,
		close() {
			closed.abort();
			clearTimeout(timer);
			socket?.close();
		}
	};
}
// console/web/live/polled.ts
var RETRY_MS = 2e3;
/** The live view without a WebSocket: asks for what is new, and sends what the person does by requests (A11). */
function openPolledView({ sessionId, role, onMessage, onPicture, onConnection }) {
	const closed = new AbortController();
	const { signal } = closed;
	let view;
	let picture = -1;
	let waiting = [];
	let sending = false;
	function read(message) {
		if (message.t === "hello") onConnection({ is: "open" });
		onMessage(message);
	}
	/** Until the view is closed. */
	async function follow(id) {
		let after = 0;
		for (;;) {
			const query = new URLSearchParams({
				after: String(after),
				picture: String(picture)
			});
			const news = await callConsole("GET", `${encodePath`/polled-views/${id}`}?${query}`, void 0, signal);
			news.messages.forEach(read);
			after = news.next;
			if (news.closed !== null) return news.closed;
			if (news.picture === picture) continue;
			const seen = await readPicture(id, signal);
			if (seen === void 0) continue;
			picture = seen.seq;
			await onPicture(seen);
		}
	}
	async function run() {
		/** The lease has ended: nothing else is sent until the next one has begun. */
		let isOver = false;
		while (!signal.aborted) {
			if (!isOver) onConnection({ is: "connecting" });
			picture = -1;
			let why = "";
			try {
				const at = encodePath`/browser-sessions/${sessionId}/polled-views`;
				({view} = await callConsole("POST", at, { role }, signal));
				isOver = false;
				const { code, reason } = await follow(view);
				isOver = code === LIVE_CLOSE.leaseEnded;
				if (isOver) onConnection({
					is: "ended",
					why: reason
				});
				why = reason;
			} catch (error) {
				if (signal.aborted) return;
				why = messageOf(error);
			}
			view = void 0;
			if (!isOver) onConnection({
				is: "retrying",
				why
			});
			await new Promise((resolve) => setTimeout(resolve, isOver ? NEXT_LEASE_MS : RETRY_MS));
		}
	}
	/** In order: one request at a time, with all that came meanwhile. */
	async function flush() {
		if (sending) return;
		sending = true;
		while (waiting.length > 0 && view !== void 0) {
			const body = {
				picture,
				messages: waiting.splice(0, 200)
			};
			await callConsole("POST", encodePath`/polled-views/${view}/messages`, body).catch(() => void 0);
		}
		waiting = [];
		sending = false;
	}
	run();
	return {
		send(message) {
			waiting.push(message);
			flush();
		},
		close() {
			closed.abort();
			if (view !== void 0) callConsole("DELETE", encodePath`/polled-views/${view}`).catch(() => void 0);
		}
	};
}
async function readPicture(view, signal) {
	const answer = await fetch(`/api${encodePath`/polled-views/${view}/picture`}`, { signal });
	if (answer.status !== 200) return void 0;
	const number = (name) => Number(answer.headers.get(name));
	return {
		kind: "screencast",
		seq: Number(answer.headers.get("etag")?.replaceAll("\"", "")),
		atMs: Date.now(),
		tab: number(PICTURE_HEADERS.tab),
		cssWidth: number(PICTURE_HEADERS.width),
		cssHeight: number(PICTURE_HEADERS.height),
		jpeg: new Uint8Array(await answer.arrayBuffer())
	};
}
// console/web/live/use-live.ts
var START = {
	connection: { is: "connecting" },
	isMine: false,
	mayControl: false,
	you: "",
	control: void 0,
	tabs: [],
	dialogs: [],
	choosers: [],
	picker: void 0,
	asks: [],
	act: void 0,
	clip: void 0,
	refusal: void 0
};
var withoutTab = (list, tab) => list.filter((each) => each.tab !== tab);
function change(state, message) {
	switch (message.t) {
		case "connection": return {
			...state,
			connection: message.connection,
			isMine: state.isMine && message.connection.is === "open"
		};
		case "hello": {
			const { you, role, tabs } = message;
			return withControl({
				...START,
				connection: { is: "open" },
				mayControl: role === "control",
				you,
				tabs
			}, message.control);
		}
		case "control": return withControl(state, message.control);
		case "tabs": return {
			...state,
			tabs: message.tabs
		};
		case "dialog": return {
			...state,
			dialogs: [...withoutTab(state.dialogs, message.tab), message]
		};
		case "dialog_closed": return {
			...state,
			dialogs: withoutTab(state.dialogs, message.tab)
		};
		case "picker": return {
			...state,
			picker: message
		};
		case "picker_closed": return {
			...state,
			picker: void 0
		};
		case "files": return {
			...state,
			choosers: [...withoutTab(state.choosers, message.tab), message]
		};
		case "answered": return {
			...state,
			choosers: withoutTab(state.choosers, message.tab)
		};
		case "ask": return {
			...state,
			asks: [...state.asks.filter(({ id }) => id !== message.id), message]
		};
		case "ask_closed": return {
			...state,
			asks: state.asks.filter(({ id }) => id !== message.id)
		};
		case "act": return {
			...state,
			act: {
				...message,
				n: (state.act?.n ?? 0) + 1
			}
		};
		case "clip": return {
			...state,
			clip: message.text
		};
		case "refused": return {
			...state,
			refusal: message.text
		};
		case "noted": return {
			...state,
			clip: void 0,
			refusal: void 0
		};
		default: return state;
	}
}
var withControl = (state, control) => ({
	...state,
	control,
	isMine: control.state === "person" && control.holder === state.you,
	refusal: void 0
});
/** Set while this tab of the person's browser has control, so that a reload keeps it. */
var heldKey = (sessionId) => `omicron-control ${sessionId}`;
var TRANSPORT_KEY = "omicron-live-transport";
/** A socket that was never open after this many attempts is given up for pictures. */
var ATTEMPTS_MAX = 3;
/** A live view, connected while the page is visible or has control. */
function useLive({ sessionId, role, onPicture, admit }) {
	const [state, dispatch] = _(change, START);
	const [transport, setTransport] = d(() => admit === void 0 && localStorage.getItem(TRANSPORT_KEY) === "pictures" ? "pictures" : "stream");
	const socket = T(void 0);
	const idleAt = T(0);
	const isMine = T(false);
	isMine.current = state.isMine;
	const callbacks = T({
		onPicture,
		admit
	});
	callbacks.current = {
		onPicture,
		admit
	};
	A(() => {
		const key = heldKey(sessionId);
		const read = (message) => {
			const { control } = message.t === "hello" || message.t === "control" ? message : {};
			if (control?.idle_ms != null) idleAt.current = performance.now() + control.idle_ms;
			if (message.t === "hello" && control?.state === "person" && sessionStorage.getItem(key) !== null) socket.current?.send({ t: "take" });
			dispatch(message.t === "hello" && role === "view" ? {
				...message,
				role
			} : message);
		};
		let wasOpen = false;
		let attempts = 0;
		const follow = (connection) => {
			if (connection.is === "open") wasOpen = true;
			if (connection.is === "retrying") attempts += 1;
			if (transport === "stream" && !wasOpen && attempts === ATTEMPTS_MAX && admit === void 0) setTransport("pictures");
			dispatch({
				t: "connection",
				connection
			});
		};
		const connect = () => {
			socket.current ??= (transport === "stream" ? openLiveSocket : openPolledView)({
				sessionId,
				role,
				admit: callbacks.current.admit,
				onMessage: read,
				onPicture: (picture) => callbacks.current.onPicture(picture),
				onConnection: follow
			});
		};
		const disconnect = () => {
			socket.current?.close();
			socket.current = void 0;
		};
		const adjust = () => {
			if (!document.hidden) connect();
			else if (!isMine.current) disconnect();
		};
		adjust();
		document.addEventListener("visibilitychange", adjust);
		return () => {
			document.removeEventListener("visibilitychange", adjust);
			disconnect();
		};
	}, [
		sessionId,
		role,
		transport
	]);
	A(() => {
		if (state.isMine) sessionStorage.setItem(heldKey(sessionId), "");
		else if (state.connection.is === "open") sessionStorage.removeItem(heldKey(sessionId));
	}, [
		sessionId,
		state.isMine,
		state.connection.is
	]);
	const send = b((message) => {
		idleAt.current = performance.now() + LIVE_LIMITS.idleSeconds * 1e3;
		socket.current?.send(message);
	}, []);
	const note = b(() => dispatch({ t: "noted" }), []);
	const answered = b((tab) => dispatch({
		t: "answered",
		tab
	}), []);
	const choose = b((chosen) => {
		localStorage.setItem(TRANSPORT_KEY, chosen);
		setTransport(chosen);
	}, []);
	return {
		state,
		send,
		note,
		answered,
		transport,
		mayChangeTransport: admit === void 0,
		setTransport: choose,
		idleAtMs: () => idleAt.current
	};
}
// console/web/live/live-view.tsx
/** The browser of a session while it runs: seen by every viewer, used by the one who has control. */
function LiveBrowser({ sessionId, liveRole, onAsk, onControl, admit }) {
	const canvas = T(null);
	const [pictures] = d(() => painter(() => canvas.current));
	const [isSeen, setSeen] = d(false);
	const live = useLive({
		sessionId,
		role: liveRole,
		admit,
		async onPicture(picture) {
			await pictures.paint(picture);
			setSeen(true);
		}
	});
	const { state, send } = live;
	A(() => onAsk(state.asks.map(({ reason }) => reason)), [state.asks]);
	A(() => {
		onControl?.(state.isMine ? () => send({ t: "release" }) : void 0);
	}, [state.isMine]);
	const shown = state.tabs.find((tab) => tab.shown);
	return /* @__PURE__ */ a("section", {
		class: "live",
		"aria-label": "Live view",
		children: [
			/* @__PURE__ */ a(ControlBar, { live }),
			/* @__PURE__ */ a(TabBar, { live }),
			/* @__PURE__ */ a("div", {
				class: state.isMine ? "screen mine" : "screen",
				children: [
					/* @__PURE__ */ a("canvas", {
						ref: canvas,
						width: 1280,
						height: 720,
						role: "img",
						"aria-label": `Picture of ${shown?.title || shown?.url || "the browser"}`
					}),
					!isSeen && /* @__PURE__ */ a("p", {
						class: "unseen-yet muted",
						children: state.connection.is === "ended" ? "No picture." : "Waiting for a picture …"
					}),
					/* @__PURE__ */ a(Asked, { live }),
					/* @__PURE__ */ a(Act, {
						state,
						pictures
					}),
					state.isMine && /* @__PURE__ */ a(Input, {
						pictures,
						canvas,
						send,
						takesFocus: true
					}),
					state.isMine && state.picker && /* @__PURE__ */ a(Picker, {
						picker: state.picker,
						pictures,
						send
					})
				]
			}),
			/* @__PURE__ */ a(Failure, { text: state.refusal }),
			/* @__PURE__ */ a(Clip, { live }),
			/* @__PURE__ */ a("p", {
				class: "muted",
				children: state.isMine ? "Press on the picture to type into the page; Shift+Esc leaves it. Your typing is not recorded in the timeline." : state.act?.by === "agent" ? `Last call of the agent: ${state.act.kind}` : " "
			})
		]
	});
}
/** A ring where someone clicked, drawn over the picture and not in the page. */
function Act({ state: { act }, pictures }) {
	const size = pictures.shown();
	if (act?.x === void 0 || act.y === void 0 || size === void 0) return null;
	return /* @__PURE__ */ a("span", {
		class: "ring",
		style: {
			left: `${act.x / size.cssWidth * 100}%`,
			top: `${act.y / size.cssHeight * 100}%`
		},
		"aria-hidden": "true"
	}, act.n);
}
/** Puts what was copied in the page into the person's own clipboard. */
function Clip({ live: { state, note } }) {
	const { clip } = state;
	const [isRefused, setRefused] = d(false);
	A(() => {
		setRefused(false);
		if (clip) navigator.clipboard?.writeText(clip).then(note, () => setRefused(true));
	}, [clip]);
	if (!clip || !isRefused) return null;
	return /* @__PURE__ */ a("label", {
		class: "notice",
		children: ["Your browser did not allow the copy. Copy it from here:", /* @__PURE__ */ a("textarea", {
			readOnly: true,
			value: clip
		})]
	});
}
// console/web/pages/preview.tsx
/**
* The live view alone, for a frame beside a chat (A3, B11). `?readOnly=true`: no person takes control here. `?admission=token`: the page
* around it admits the viewer, in place of a sign-in.
*/
function PreviewPage({ id, url }) {
	const [asked, setAsked] = d([]);
	A(() => {
		document.title = "Browser · omicron-browser";
		document.documentElement.classList.add("preview");
	}, []);
	const admit = url.searchParams.get("admission") === "token" ? tokenFromEmbedder : void 0;
	return /* @__PURE__ */ a("main", {
		class: "preview",
		children: [
			/* @__PURE__ */ a("h1", {
				class: "unseen",
				children: "Browser of the session"
			}),
			asked.map((reason) => /* @__PURE__ */ a("p", {
				class: "notice",
				role: "status",
				children: [
					"The agent asks: ",
					reason,
					" ",
					/* @__PURE__ */ a("a", {
						href: encodePath`/sessions/${id}`,
						target: "_blank",
						rel: "noopener",
						children: "Answer in the console"
					})
				]
			}, reason)),
			/* @__PURE__ */ a(LiveBrowser, {
				sessionId: id,
				liveRole: url.searchParams.get("readOnly") === "true" ? "view" : "control",
				admit,
				onAsk: (reasons) => setAsked(reasons)
			})
		]
	});
}
// console/web/profile-check.tsx
/** Opens a page with a profile, in a browser that ends with the check, and says whether it shows who is logged in. */
function ProfileCheckForm({ userId, name, domain }) {
	const { answer: check, failure, isRunning, onSubmit } = useSubmission((fields) => callConsole("POST", encodePath`/users/${userId}/profiles/${name}/check`, {
		url: typedIn(fields, "url"),
		text: typedIn(fields, "text")
	}));
	return /* @__PURE__ */ a("form", {
		class: "form",
		"aria-label": `Check of ${name}`,
		onSubmit,
		children: [
			/* @__PURE__ */ a("label", { children: ["Page", /* @__PURE__ */ a("input", {
				name: "url",
				type: "url",
				required: true,
				defaultValue: `https://${domain}/`,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", { children: ["Text that it shows when logged in", /* @__PURE__ */ a("input", {
				name: "text",
				required: true,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("p", {
				class: check || isRunning ? `notice ${toneOf$1(check)}` : "unseen",
				role: "status",
				children: [isRunning ? "Starting a browser with the saved profile. This takes up to a minute …" : resultOf(check), check && /* @__PURE__ */ a("span", {
					class: "long",
					children: [
						" The browser was at ",
						check.url,
						"."
					]
				})]
			}),
			/* @__PURE__ */ a(Failure, { text: failure }),
			/* @__PURE__ */ a("p", {
				class: "actions",
				children: /* @__PURE__ */ a("button", {
					type: "submit",
					disabled: isRunning,
					children: "Check"
				})
			})
		]
	});
}
var toneOf$1 = (check) => check === void 0 ? "" : check.logged_in === true ? "success" : "failure";
function resultOf(check) {
	if (check === void 0) return void 0;
	if (check.logged_in === null) return "The page was not shown.";
	return check.logged_in ? "Logged in." : "Not logged in: the page does not show this text.";
}
// console/web/time.ts
var clock = new Intl.DateTimeFormat(void 0, {
	hour: "2-digit",
	minute: "2-digit",
	second: "2-digit",
	hour12: false
});
var day = new Intl.DateTimeFormat(void 0, {
	dateStyle: "medium",
	timeStyle: "short"
});
var timeOfDay = (iso) => clock.format(new Date(iso));
var dayAndTime = (iso) => day.format(new Date(iso));
/** `in 4 min`, `12 s ago`. */
function formatRelative(iso, nowMs) {
	const seconds = Math.round((new Date(iso).getTime() - nowMs) / 1e3);
	const size = Math.abs(seconds);
	const [count, unit] = size < 90 ? [size, "s"] : size < 5400 ? [Math.round(size / 60), "min"] : size < 129600 ? [Math.round(size / 3600), "h"] : [Math.round(size / 86400), "days"];
	return seconds >= 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
}
/** `3.4 MB`. */
var formatMegabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
// console/web/pages/profiles.tsx
/** The profiles of one user: where their browsers stay logged in, and the versions that are kept. */
function ProfilesPage({ url }) {
	const userId = url.searchParams.get("user") ?? "";
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("h1", { children: "Profiles" }),
		/* @__PURE__ */ a(UserChoice, {
			userId,
			label: "User",
			onChoose: (chosen) => go(chosen === "" ? "/profiles" : `/profiles?${new URLSearchParams({ user: chosen })}`)
		}),
		userId === "" ? /* @__PURE__ */ a(Empty, {
			title: "Whose profiles?",
			children: /* @__PURE__ */ a("p", { children: "Enter the id of a user, as your platform knows it. A profile keeps the logins of that user's browsers." })
		}) : /* @__PURE__ */ a(UserProfiles, { userId }, userId)
	] });
}
function UserProfiles({ userId }) {
	const profiles = usePolled(`profiles ${userId}`, 5e3, async (signal) => {
		return (await callConsole("GET", encodePath`/users/${userId}/profiles`, void 0, signal)).profiles;
	});
	const mayChange = useMay("operator");
	const [opened, setOpened] = d();
	const [checked, setChecked] = d();
	const [done, setDone] = d();
	const [failure, setFailure] = d();
	const act = (text, work) => async () => {
		setDone(void 0);
		setFailure(void 0);
		try {
			await work();
			setDone(text);
		} catch (error) {
			setFailure(messageOf(error));
		}
		profiles.refresh();
	};
	if (!profiles.value) return profiles.error ? /* @__PURE__ */ a(Failure, { text: profiles.error }) : /* @__PURE__ */ a(Loading, { what: "profiles" });
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a(Failure, { text: failure ?? profiles.error }),
		/* @__PURE__ */ a(Success, { text: done }),
		profiles.value.length === 0 && /* @__PURE__ */ a(Empty, {
			title: `${userId} has no profile`,
			children: [/* @__PURE__ */ a("p", { children: "A lease that names one makes it, and keeps its logins there for the next:" }), /* @__PURE__ */ a("pre", { children: [
				"npx --no-install omicron-browser session start --user ",
				userId,
				" --conversation chat-1 --profile work"
			] })]
		}),
		/* @__PURE__ */ a("ul", {
			class: "rows",
			children: profiles.value.map((profile) => /* @__PURE__ */ a("li", { children: [
				/* @__PURE__ */ a(ProfileRow, { profile }),
				/* @__PURE__ */ a("p", {
					class: "actions",
					children: [
						/* @__PURE__ */ a("button", {
							type: "button",
							class: "quiet",
							"aria-expanded": opened === profile.name,
							onClick: () => setOpened(opened === profile.name ? void 0 : profile.name),
							children: "Versions"
						}),
						mayChange && profile.version > 0 && /* @__PURE__ */ a("button", {
							type: "button",
							class: "quiet",
							"aria-expanded": checked === profile.name,
							onClick: () => setChecked(checked === profile.name ? void 0 : profile.name),
							children: "Check login"
						}),
						mayChange && profile.writer_session_id !== null && /* @__PURE__ */ a("button", {
							type: "button",
							class: "quiet",
							onClick: act(`${profile.name} is saved.`, () => callConsole("POST", encodePath`/users/${userId}/profiles/${profile.name}/save`)),
							children: "Save now"
						}),
						mayChange && /* @__PURE__ */ a(Confirm, {
							label: `Delete ${profile.name}`,
							question: "All its versions and the logins in them are deleted. Delete it?",
							onConfirm: act(`${profile.name} is deleted.`, () => callConsole("DELETE", encodePath`/users/${userId}/profiles/${profile.name}`))
						})
					]
				}),
				checked === profile.name && /* @__PURE__ */ a(ProfileCheckForm, {
					userId,
					name: profile.name,
					domain: profile.domains[0]?.domain ?? ""
				}),
				opened === profile.name && /* @__PURE__ */ a(Versions, {
					userId,
					name: profile.name,
					onRestore: (version) => act(`Version ${version} of ${profile.name} is the current one again.`, () => callConsole("POST", encodePath`/users/${userId}/profiles/${profile.name}/restore`, { version }))()
				}, profile.version)
			] }, profile.name))
		})
	] });
}
function ProfileRow({ profile }) {
	const { name, version, bytes, saved_at, domains, writer_session_id } = profile;
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("strong", { children: name }),
		" ",
		/* @__PURE__ */ a("span", {
			class: "muted",
			children: saved_at === null ? "nothing was saved yet" : `version ${version}, saved ${formatRelative(saved_at, Date.now())}, ${formatMegabytes(bytes)} in all`
		}),
		writer_session_id !== null && /* @__PURE__ */ a("div", { children: [
			"A running browser has it for writing: ",
			/* @__PURE__ */ a("a", {
				href: `/sessions/${writer_session_id}`,
				children: "its session"
			}),
			"."
		] }),
		/* @__PURE__ */ a("div", { children: domains.length === 0 ? "No login is known." : domains.map(({ domain, logged_in, expires_at }) => /* @__PURE__ */ a("span", {
			class: logged_in ? "tag" : "tag muted",
			title: expires_at === null ? "until the site ends it" : `until ${dayAndTime(expires_at)}`,
			children: [domain, !logged_in && " (expired)"]
		}, domain)) })
	] });
}
function Versions(props) {
	const { userId, name, onRestore } = props;
	const mayChange = useMay("operator");
	const detail = usePolled(`profile ${userId} ${name}`, 1e4, (signal) => callConsole("GET", encodePath`/users/${userId}/profiles/${name}`, void 0, signal));
	if (!detail.value) return detail.error ? /* @__PURE__ */ a(Failure, { text: detail.error }) : /* @__PURE__ */ a(Loading, { what: "versions" });
	const { versions, version: current, writer_session_id } = detail.value;
	return /* @__PURE__ */ a("table", { children: [/* @__PURE__ */ a("thead", { children: /* @__PURE__ */ a("tr", { children: [
		/* @__PURE__ */ a("th", {
			scope: "col",
			children: "Version"
		}),
		/* @__PURE__ */ a("th", {
			scope: "col",
			children: "Saved"
		}),
		/* @__PURE__ */ a("th", {
			scope: "col",
			children: "Size"
		}),
		/* @__PURE__ */ a("th", {
			scope: "col",
			children: /* @__PURE__ */ a("span", {
				class: "unseen",
				children: "Actions"
			})
		})
	] }) }), /* @__PURE__ */ a("tbody", { children: versions.map(({ version, saved_at, bytes }) => /* @__PURE__ */ a("tr", { children: [
		/* @__PURE__ */ a("th", {
			scope: "row",
			children: version
		}),
		/* @__PURE__ */ a("td", { children: dayAndTime(saved_at) }),
		/* @__PURE__ */ a("td", { children: formatMegabytes(bytes) }),
		/* @__PURE__ */ a("td", { children: [version === current && "current", mayChange && version !== current && /* @__PURE__ */ a(Confirm, {
			label: `Restore ${version}`,
			question: writer_session_id === null ? "It becomes the current version; none is lost. Restore it?" : "The running browser saves over it at its end. Restore it?",
			onConfirm: () => onRestore(version)
		})] })
	] }, version)) })] });
}
// console/web/events.ts
var PAGE_SIZE = 200;
/** The events after those that are known; none is read twice. */
async function newEvents(sessionId, known, signal) {
	const events = [...known];
	for (;;) {
		const query = new URLSearchParams({
			limit: String(PAGE_SIZE),
			cursor: events.at(-1)?.id ?? "0"
		});
		const page = await callConsole("GET", `${encodePath`/browser-sessions/${sessionId}/events`}?${query}`, void 0, signal);
		events.push(...page.events);
		if (page.next_cursor === null) return events;
	}
}
// console/web/replay.ts
/** The stored videos of a lease, in the order in which their tabs were opened. */
function videosOf(artifacts, events) {
	return artifacts.filter(({ kind, state }) => kind === "video" && state === "stored").map(({ id, epoch, uri, created_at }) => {
		const file = uri?.split("/").at(-1) ?? "";
		const started = events.find((event) => event.epoch === epoch && event.kind === "recording.started" && event.data.file === file);
		const ready = events.find((event) => event.epoch === epoch && event.kind === "session.ready");
		return {
			id,
			epoch,
			file,
			startMs: Date.parse((started ?? ready)?.at ?? created_at)
		};
	}).sort((a, b) => a.startMs - b.startMs || a.file.localeCompare(b.file));
}
/** The kind that begins a span, by the kind that ends it. */
var ENDS = {
	"control.given_back": "control.taken",
	"user_action.answered": "user_action.requested"
};
/** The events of one lease with their spans, in the order of their beginnings. */
function chaptersOf(events, epoch) {
	const chapters = [];
	for (const event of events) {
		if (event.epoch !== epoch) continue;
		const { kind, data } = event;
		const atMs = Date.parse(event.at);
		const begun = chapters.findLastIndex((each) => each.event.kind === ENDS[kind] && each.event.data.id === data.id);
		const opened = chapters[begun];
		if (opened !== void 0) chapters[begun] = {
			...opened,
			endMs: atMs
		};
		const tone = kind === "tool.call" ? "call" : /^(control|user_action)\./.test(kind) ? "person" : "other";
		const tookMs = tone === "call" ? Number(data.duration_ms ?? 0) : 0;
		chapters.push({
			event,
			startMs: atMs - tookMs,
			endMs: atMs,
			tone
		});
	}
	return chapters.sort((a, b) => a.startMs - b.startMs);
}
/** The video that shows this moment: the one that is shown if it does, else the newest that has begun. */
function videoAt(videos, atMs, shown) {
	if (shown !== void 0 && atMs >= shown.startMs) return shown;
	return videos.findLast(({ startMs }) => startMs <= atMs) ?? videos[0];
}
/** `1:07`. */
function clockOf(ms) {
	const seconds = Math.max(0, Math.floor(ms / 1e3));
	return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
// console/web/words.ts
/** Why a lease ended, for a reader who has not read the glossary. */
var ENDED = {
	released: "released by its platform or here",
	expired: "not used within its idle TTL",
	max_age: "reached its maximum age",
	evicted: "made room for a newer lease of this user",
	archived: "archived",
	shutdown: "the stack shut down",
	runner_lost: "its runner was lost",
	runner_start_failed: "its runner did not start",
	sandbox_runtime_required: "the browser's sandbox is not available",
	start_timed_out: "the start took too long"
};
/** Meanings of states whose word does not say it. */
var stateHint = ({ status }) => status === "hibernated" ? "Hibernated: no browser runs. Its tabs and logins come back with the next request of its platform." : null;
var whyEnded = ({ error, ended_reason }) => error ?? (ended_reason === null ? null : ENDED[ended_reason]);
/** Filters of a list of events. */
var EVENT_GROUPS = {
	all: {
		title: "Everything",
		has: () => true
	},
	calls: {
		title: "Tool calls",
		has: (kind) => kind === "tool.call"
	},
	denials: {
		title: "Egress denials",
		has: (kind) => kind === "egress.denied"
	},
	lease: {
		title: "Lease",
		has: (kind) => kind.startsWith("session.")
	}
};
/** The subject of an event: a call by its tool, all else by its kind. */
var eventTitle = ({ kind, data }) => kind === "tool.call" ? String(data.tool) : kind;
/** Why a call was refused or failed, or a request denied. */
var codeOf = ({ data: { code } }) => typeof code === "string" ? code : void 0;
/** They are for a tracing system. */
var FOR_TRACES = ["trace_id", "span_id"];
/** One line about an event: what its data says, in the order in which it was written. A call says what it was called with, where it led, and how it ended. */
function eventLine({ kind, data }) {
	if (kind !== "tool.call") return formatPairs(data);
	const { arguments: given, outcome, code = "", duration_ms, status, title } = data;
	return [
		typeof given === "object" && given !== null ? formatPairs(given) : "",
		[status, title].filter((part) => part !== void 0).join(" "),
		outcome === "ok" ? "" : `${outcome} ${code}`.trim(),
		`${String(duration_ms)} ms`
	].filter((part) => part !== "").join(" · ");
}
var formatPairs = (data) => Object.entries(data).filter(([name, value]) => value !== null && value !== "" && !FOR_TRACES.includes(name)).map(([name, value]) => `${name.replaceAll("_", " ")}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(" · ");
// console/web/pages/replay.tsx
/** A lease that has ended changes no more; a video that is being stored still comes. */
var POLL_MS$3 = 1e4;
/** A video that is sought to a place says that it is there, less than this before it. */
var PLACE_ROUNDED_MS = 1;
var UNREADABLE = "This video cannot be read: it is gone, or its deployment keeps videos in S3 for administrators alone (docs/operations.md says how to replay them).";
var SPEEDS = [
	.5,
	1,
	1.5,
	2,
	4
];
var artifactOf = (sessionId, { id }) => `/api${encodePath`/browser-sessions/${sessionId}/artifacts/${id}`}`;
/** The videos of a session beside its timeline: an event is a place in the video. */
function ReplayPage({ id }) {
	const recorded = usePolled(`replay ${id}`, POLL_MS$3, async (signal, known) => {
		const at = encodePath`/browser-sessions/${id}`;
		const [session, { artifacts }, events] = await Promise.all([
			callConsole("GET", at, void 0, signal),
			callConsole("GET", `${at}/artifacts`, void 0, signal),
			newEvents(id, known?.events ?? [], signal)
		]);
		return {
			session,
			events,
			videos: videosOf(artifacts, events)
		};
	});
	const { value } = recorded;
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("p", {
			class: "trail",
			children: [
				/* @__PURE__ */ a("a", {
					href: "/",
					children: "Sessions"
				}),
				" /",
				" ",
				/* @__PURE__ */ a("a", {
					href: encodePath`/sessions/${id}`,
					children: value?.session.conversation_id ?? "Session"
				})
			]
		}),
		/* @__PURE__ */ a("h1", { children: "Replay" }),
		/* @__PURE__ */ a(Failure, { text: recorded.error }),
		!value && !recorded.error && /* @__PURE__ */ a(Loading, { what: "the recording" }),
		value?.videos.length === 0 && /* @__PURE__ */ a(Empty, {
			title: "No video yet",
			children: /* @__PURE__ */ a("p", { children: "Videos are stored when a lease that is recorded ends." })
		}),
		value && value.videos.length > 0 && /* @__PURE__ */ a(Leases, {
			id,
			recorded: value
		})
	] });
}
function Leases({ id, recorded: { events, videos } }) {
	const epochs = [...new Set(videos.map(({ epoch }) => epoch))].sort((a, b) => b - a);
	const [chosen, setChosen] = d();
	const epoch = chosen ?? epochs[0] ?? 0;
	return /* @__PURE__ */ a($, { children: [epochs.length > 1 && /* @__PURE__ */ a("label", { children: ["Lease", /* @__PURE__ */ a("select", {
		value: epoch,
		onChange: (event) => setChosen(Number(event.currentTarget.value)),
		children: epochs.map((each) => /* @__PURE__ */ a("option", {
			value: each,
			children: ["epoch ", each]
		}))
	})] }), /* @__PURE__ */ a(Player, {
		sessionId: id,
		videos: videos.filter((video) => video.epoch === epoch),
		chapters: chaptersOf(events, epoch)
	}, epoch)] });
}
function Player(props) {
	const { sessionId, videos, chapters } = props;
	const element = T(null);
	const [shown, setShown] = d(videos[0]);
	const [nowMs, setNowMs] = d(videos[0]?.startMs ?? 0);
	const [pressed, setPressed] = d();
	const [speed, setSpeed] = d(1);
	const [unreadable, setUnreadable] = d();
	/** Start position of a video that is not loaded yet. */
	const pendingMs = T(void 0);
	const beginMs = videos[0]?.startMs ?? 0;
	const endMs = Math.max(beginMs + 1e3, ...chapters.map((chapter) => chapter.endMs));
	const seek = (atMs, wanted = videoAt(videos, atMs, shown)) => {
		if (!wanted) return;
		setNowMs(atMs);
		if (wanted.id === shown?.id && element.current) {
			element.current.currentTime = Math.max(0, (atMs - wanted.startMs) / 1e3);
			return;
		}
		pendingMs.current = atMs;
		setShown(wanted);
	};
	const onLoaded = () => {
		if (!element.current || !shown) return;
		element.current.playbackRate = speed;
		if (pendingMs.current !== void 0) element.current.currentTime = Math.max(0, (pendingMs.current - shown.startMs) / 1e3);
		pendingMs.current = void 0;
	};
	const current = pressed !== void 0 && Math.abs(pressed.startMs - nowMs) <= PLACE_ROUNDED_MS ? pressed : chapters.findLast(({ startMs }) => startMs <= nowMs + PLACE_ROUNDED_MS);
	return /* @__PURE__ */ a("div", {
		class: "replay",
		children: [/* @__PURE__ */ a("section", {
			"aria-label": "Video",
			children: [
				/* @__PURE__ */ a(Failure, { text: unreadable !== void 0 && unreadable === shown?.id ? UNREADABLE : void 0 }),
				shown && /* @__PURE__ */ a("video", {
					ref: element,
					src: `${artifactOf(sessionId, shown)}/content`,
					controls: true,
					preload: "metadata",
					onLoadedMetadata: onLoaded,
					onError: () => setUnreadable(shown.id),
					onTimeUpdate: (event) => setNowMs(shown.startMs + event.currentTarget.currentTime * 1e3)
				}),
				/* @__PURE__ */ a(Track, {
					chapters,
					beginMs,
					endMs,
					nowMs
				}),
				/* @__PURE__ */ a("p", {
					class: "actions",
					children: [
						/* @__PURE__ */ a("label", { children: ["Speed", /* @__PURE__ */ a("select", {
							value: speed,
							onChange: (event) => {
								const chosen = Number(event.currentTarget.value);
								setSpeed(chosen);
								if (element.current) element.current.playbackRate = chosen;
							},
							children: SPEEDS.map((each) => /* @__PURE__ */ a("option", {
								value: each,
								children: [each, "×"]
							}))
						})] }),
						videos.length > 1 && /* @__PURE__ */ a("label", { children: ["Tab", /* @__PURE__ */ a("select", {
							value: shown?.id,
							onChange: (event) => {
								const { value } = event.currentTarget;
								const wanted = videos.find((video) => video.id === value);
								if (wanted) seek(Math.max(nowMs, wanted.startMs), wanted);
							},
							children: videos.map((video) => /* @__PURE__ */ a("option", {
								value: video.id,
								children: [
									video.file,
									" (from ",
									clockOf(video.startMs - beginMs),
									")"
								]
							}))
						})] }),
						shown && /* @__PURE__ */ a(Downloads, {
							sessionId,
							video: shown
						})
					]
				})
			]
		}), /* @__PURE__ */ a(Chapters, {
			chapters,
			beginMs,
			current,
			onPress: (chapter) => {
				setPressed(chapter);
				seek(chapter.startMs);
			}
		})]
	});
}
/** Positions of the agent's calls, of a person's spans, and of the video. */
function Track(props) {
	const { chapters, beginMs, endMs, nowMs } = props;
	const part = (ms) => `${Math.min(100, Math.max(0, (ms - beginMs) / (endMs - beginMs) * 100))}%`;
	return /* @__PURE__ */ a("div", {
		class: "track",
		"aria-hidden": "true",
		children: [chapters.filter(({ tone }) => tone !== "other").map(({ event, startMs, endMs: untilMs, tone }) => /* @__PURE__ */ a("span", {
			class: tone,
			style: {
				left: part(startMs),
				width: `calc(${part(untilMs)} - ${part(startMs)} + 2px)`
			}
		}, event.id)), /* @__PURE__ */ a("span", {
			class: "now",
			style: { left: part(nowMs) }
		})]
	});
}
function Downloads({ sessionId, video }) {
	const hasMp4 = usePolled("formats", 36e5, (signal) => callConsole("GET", "/video-formats", void 0, signal)).value?.formats.includes("mp4");
	const at = artifactOf(sessionId, video);
	return /* @__PURE__ */ a($, { children: [/* @__PURE__ */ a("a", {
		href: `${at}/content`,
		download: video.file,
		children: "Download"
	}), hasMp4 && /* @__PURE__ */ a("a", {
		href: `${at}/mp4`,
		download: video.file.replace(/webm$/, "mp4"),
		children: "Download as MP4"
	})] });
}
/** The events of the video, each a place to go to. */
function Chapters(props) {
	const { chapters, beginMs, current, onPress } = props;
	return /* @__PURE__ */ a("ol", {
		class: "chapters",
		"aria-label": "Events",
		children: chapters.map((chapter) => /* @__PURE__ */ a("li", { children: /* @__PURE__ */ a("button", {
			type: "button",
			class: `quiet ${chapter.tone}`,
			"aria-current": chapter.event.id === current?.event.id,
			onClick: () => onPress(chapter),
			children: [
				/* @__PURE__ */ a("span", {
					class: "at",
					children: clockOf(chapter.startMs - beginMs)
				}),
				" ",
				/* @__PURE__ */ a("strong", { children: eventTitle(chapter.event) }),
				" ",
				/* @__PURE__ */ a("span", {
					class: "muted long",
					children: eventLine(chapter.event)
				})
			]
		}) }, chapter.event.id))
	});
}
// console/web/request.tsx
var NOTE_MAX = 2e3;
/** An agent's request to a person, and the answer. The answer's note reaches the model: it is no place for a secret. */
function Request(props) {
	const { request, onAnswered } = props;
	const mayAnswer = useMay("operator");
	const [note, setNote] = d("");
	const [failure, setFailure] = d();
	const [isSending, setSending] = d(false);
	const about = request.credential;
	const answer = async (status, always = false) => {
		setSending(true);
		setFailure(void 0);
		try {
			const action = await callConsole("POST", encodePath`/browser-sessions/${request.session_id}/user-actions/${request.id}`, {
				status,
				...always && { always },
				...note.trim() !== "" && { note: note.trim() }
			});
			if (action.status !== status) setFailure(`It was too late: the request is ${action.status}.`);
			onAnswered();
		} catch (error) {
			setFailure(messageOf(error));
		}
		setSending(false);
	};
	return /* @__PURE__ */ a("article", {
		class: "request",
		"aria-label": `Request: ${request.reason}`,
		children: [
			/* @__PURE__ */ a("p", {
				class: "reason",
				children: request.reason
			}),
			/* @__PURE__ */ a("p", {
				class: "muted",
				children: [
					request.user_id,
					", ",
					/* @__PURE__ */ a("a", {
						href: `/sessions/${request.session_id}`,
						children: request.conversation_id
					}),
					", expires",
					" ",
					formatRelative(request.expires_at, Date.now())
				]
			}),
			mayAnswer && /* @__PURE__ */ a($, { children: [
				about !== null && /* @__PURE__ */ a("p", {
					class: "muted",
					children: [
						"Nothing says where this credential may be used. “Always” stores ",
						about.target,
						" with it; “once” is for this lease."
					]
				}),
				/* @__PURE__ */ a("label", {
					hidden: about !== null,
					children: ["Message to the agent (optional; never a password)", /* @__PURE__ */ a("input", {
						value: note,
						maxLength: NOTE_MAX,
						autocomplete: "off",
						onInput: (event) => setNote(event.currentTarget.value)
					})]
				}),
				/* @__PURE__ */ a(Failure, { text: failure }),
				/* @__PURE__ */ a("p", {
					class: "actions",
					children: [
						/* @__PURE__ */ a("button", {
							type: "button",
							disabled: isSending,
							onClick: () => answer("done"),
							children: about === null ? "Done" : "Once"
						}),
						about !== null && /* @__PURE__ */ a("button", {
							type: "button",
							disabled: isSending,
							onClick: () => answer("done", true),
							children: "Always"
						}),
						/* @__PURE__ */ a("button", {
							type: "button",
							class: "quiet",
							disabled: isSending,
							onClick: () => answer("declined"),
							children: about === null ? "Decline" : "No"
						})
					]
				})
			] })
		]
	});
}
// console/web/pages/requests.tsx
/** Open requests of agents of all sessions. */
function RequestsPage({ requests }) {
	const { value, error, refresh } = requests;
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("h1", { children: "Requests" }),
		/* @__PURE__ */ a(Failure, { text: error }),
		!value && !error && /* @__PURE__ */ a(Loading, { what: "requests" }),
		value?.length === 0 && /* @__PURE__ */ a(Empty, {
			title: "No agent waits for you",
			children: /* @__PURE__ */ a("p", { children: [
				"When an agent needs a person for a code, a CAPTCHA or a consent, it calls",
				" ",
				/* @__PURE__ */ a("code", { children: "browser_request_user_action" }),
				", and its request appears here at once."
			] })
		}),
		value?.map((request) => /* @__PURE__ */ a(Request, {
			request,
			onAnswered: refresh
		}, request.id))
	] });
}
// contract/page-names.ts
/** Folder of a lease's kept pages, below its output and its prefix in the artifact store. */
var PAGE_FOLDER = "pages";
/** Artifacts of the last page that a lease showed. */
var LAST_PAGE = {
	picture: `${PAGE_FOLDER}/last.jpg`,
	html: `${PAGE_FOLDER}/last.html`,
	about: `${PAGE_FOLDER}/last.json`
};
// console/web/kept-pages.tsx
/** Address of a stored artifact, below `/api`. */
var contentPath = ({ session_id, id }) => `${encodePath`/browser-sessions/${session_id}/artifacts/${id}`}/content`;
var findStored = (artifacts, epoch, name) => artifacts.find((each) => each.epoch === epoch && each.name === name && each.state === "stored");
/** It is written once. */
var READ_AGAIN_MS = 36e5;
/** The last page of the session's browsers, for when none runs. */
function LastPage({ artifacts }) {
	const about = artifacts.findLast(({ name, state }) => name === LAST_PAGE.about && state === "stored");
	return about === void 0 ? null : /* @__PURE__ */ a(Shown, {
		about,
		artifacts
	});
}
function Shown({ about, artifacts }) {
	const page = usePolled(`page ${about.id}`, READ_AGAIN_MS, (signal) => callConsole("GET", contentPath(about), void 0, signal)).value;
	if (page === void 0) return null;
	const picture = findStored(artifacts, about.epoch, LAST_PAGE.picture);
	const html = findStored(artifacts, about.epoch, LAST_PAGE.html);
	return /* @__PURE__ */ a("figure", {
		class: "last-page",
		children: [picture !== void 0 && /* @__PURE__ */ a("img", {
			class: "kept-picture",
			src: `/api${contentPath(picture)}`,
			alt: `The last page: ${page.title}`
		}), /* @__PURE__ */ a("figcaption", { children: [
			/* @__PURE__ */ a("strong", { children: page.title || "Page without a title" }),
			", ",
			dayAndTime(page.at),
			/* @__PURE__ */ a("div", {
				class: "muted long",
				children: page.url
			}),
			page.picture_withheld !== void 0 && /* @__PURE__ */ a("div", { children: [
				"No picture: ",
				page.picture_withheld,
				"."
			] }),
			page.html_withheld !== void 0 && /* @__PURE__ */ a("div", { children: [
				"No HTML: ",
				page.html_withheld,
				"."
			] }),
			html !== void 0 && /* @__PURE__ */ a("a", {
				href: `/api${contentPath(html)}`,
				download: "last.html",
				children: "Download its HTML"
			})
		] })]
	});
}
/** The picture after a call, where such are kept; read when it is opened. */
function PictureAfterCall(props) {
	const picture = findStored(props.artifacts, props.epoch, props.name);
	if (picture === void 0) return null;
	return /* @__PURE__ */ a("details", {
		class: "call-picture",
		children: [/* @__PURE__ */ a("summary", { children: "Picture" }), /* @__PURE__ */ a("img", {
			class: "kept-picture",
			loading: "lazy",
			src: `/api${contentPath(picture)}`,
			alt: "The page after the call"
		})]
	});
}
// console/web/status.tsx
/** A session's state, in a word and a colour. */
var Status = ({ session }) => /* @__PURE__ */ a("span", {
	class: `status ${session.status}`,
	title: stateHint(session) ?? void 0,
	children: [session.status, session.archived_at !== null && ", archived"]
});
// console/web/timeline.tsx
var POLL_MS$2 = 1500;
/** The session's timeline, newest first; it grows while the session is used. */
function Timeline({ sessionId, artifacts }) {
	const [group, setGroup] = d("all");
	const [code, setCode] = d("");
	const events = usePolled(`events ${sessionId}`, POLL_MS$2, (signal, known) => newEvents(sessionId, known ?? [], signal));
	if (!events.value) return events.error ? /* @__PURE__ */ a(Failure, { text: events.error }) : /* @__PURE__ */ a(Loading, { what: "the timeline" });
	const groups = Object.entries(EVENT_GROUPS);
	const inGroup = events.value.filter(({ kind }) => EVENT_GROUPS[group].has(kind));
	const codes = [...new Set(events.value.flatMap((event) => codeOf(event) ?? []))].sort();
	const shown = inGroup.filter((event) => code === "" || codeOf(event) === code).reverse();
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a(Failure, { text: events.error }),
		/* @__PURE__ */ a("fieldset", {
			class: "choices",
			children: [
				/* @__PURE__ */ a("legend", {
					class: "unseen",
					children: "Events to show"
				}),
				groups.map(([name, { title, has }]) => /* @__PURE__ */ a("label", { children: [
					/* @__PURE__ */ a("input", {
						type: "radio",
						name: "events",
						checked: group === name,
						onChange: () => setGroup(name)
					}),
					title,
					" ",
					/* @__PURE__ */ a("span", {
						class: "muted",
						children: events.value?.filter(({ kind }) => has(kind)).length
					})
				] })),
				codes.length > 0 && /* @__PURE__ */ a("select", {
					"aria-label": "Code of the events",
					value: code,
					onChange: ({ currentTarget }) => setCode(currentTarget.value),
					children: [/* @__PURE__ */ a("option", {
						value: "",
						children: "Any code"
					}), codes.map((each) => /* @__PURE__ */ a("option", {
						value: each,
						children: each
					}, each))]
				})
			]
		}),
		shown.length === 0 && /* @__PURE__ */ a("p", {
			class: "muted",
			children: "No event of this kind yet."
		}),
		/* @__PURE__ */ a("ol", {
			class: "timeline",
			"aria-label": "Events, newest first",
			children: shown.map((event) => /* @__PURE__ */ a("li", {
				class: toneOf(event),
				children: [
					/* @__PURE__ */ a("time", {
						dateTime: event.at,
						title: dayAndTime(event.at),
						children: timeOfDay(event.at)
					}),
					/* @__PURE__ */ a("span", {
						class: "kind",
						children: eventTitle(event)
					}),
					/* @__PURE__ */ a("span", {
						class: "long",
						children: eventLine(event)
					}),
					/* @__PURE__ */ a(PictureAfterCall, {
						artifacts,
						epoch: event.epoch,
						name: event.data.picture
					})
				]
			}, event.id))
		})
	] });
}
var toneOf = ({ kind, data }) => kind === "egress.denied" || kind === "session.error" || kind.endsWith("crashed") || data.outcome === "error" || data.outcome === "blocked" ? "bad" : "";
// console/web/pages/session.tsx
var POLL_MS$1 = 1500;
/** One session: its lease, what waits for a person, its timeline and its artifacts. */
function SessionDetail({ id, requests }) {
	const session = usePolled(`session ${id}`, POLL_MS$1, (signal) => callConsole("GET", encodePath`/browser-sessions/${id}`, void 0, signal));
	const artifacts = usePolled(`artifacts ${id}`, 5e3, async (signal) => {
		return (await callConsole("GET", encodePath`/browser-sessions/${id}/artifacts`, void 0, signal)).artifacts;
	});
	const mayAct = useMay("operator");
	const row = session.value;
	if (!row) return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("h1", { children: "Session" }),
		/* @__PURE__ */ a(Failure, { text: session.error }),
		session.error === void 0 ? /* @__PURE__ */ a(Loading, { what: "the session" }) : /* @__PURE__ */ a("p", { children: /* @__PURE__ */ a("a", {
			href: "/",
			children: "All sessions"
		}) })
	] });
	const waiting = requests.value?.filter((each) => each.session_id === id) ?? [];
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("p", {
			class: "trail",
			children: [
				/* @__PURE__ */ a("a", {
					href: "/",
					children: "Sessions"
				}),
				" / ",
				/* @__PURE__ */ a("a", {
					href: `/?${new URLSearchParams({ user_id: row.user_id })}`,
					children: row.user_id
				})
			]
		}),
		/* @__PURE__ */ a("h1", { children: [
			row.conversation_id,
			" ",
			/* @__PURE__ */ a(Status, { session: row })
		] }),
		/* @__PURE__ */ a(Failure, { text: session.error }),
		/* @__PURE__ */ a("div", {
			class: "session",
			children: [/* @__PURE__ */ a("div", { children: [
				/* @__PURE__ */ a(Use, {
					session: row,
					waiting,
					refresh: requests.refresh
				}),
				!isLive$1(row) && /* @__PURE__ */ a(LastPage, { artifacts: artifacts.value ?? [] }),
				/* @__PURE__ */ a(Facts, { session: row }),
				mayAct && /* @__PURE__ */ a(Actions, {
					session: row,
					onDone: session.refresh
				}),
				/* @__PURE__ */ a("h2", { children: "Artifacts" }),
				/* @__PURE__ */ a(Artifacts, {
					session: row,
					artifacts
				})
			] }), /* @__PURE__ */ a("section", {
				class: "beside",
				"aria-labelledby": "timeline",
				children: [/* @__PURE__ */ a("h2", {
					id: "timeline",
					children: "Timeline"
				}), /* @__PURE__ */ a(Timeline, {
					sessionId: id,
					artifacts: artifacts.value ?? []
				})]
			})]
		})
	] });
}
/** The browser while it runs, under what its agent asks for. An answer hands control back: the agent goes on. */
function Use(props) {
	const { session, waiting, refresh } = props;
	const handBack = T(void 0);
	const mayAct = useMay("operator");
	return /* @__PURE__ */ a($, { children: [waiting.map((request) => /* @__PURE__ */ a(Request, {
		request,
		onAnswered: () => {
			handBack.current?.();
			refresh();
		}
	}, request.id)), session.status === "ready" && /* @__PURE__ */ a(LiveBrowser, {
		sessionId: session.session_id,
		liveRole: mayAct ? "control" : "view",
		onAsk: refresh,
		onControl: (back) => {
			handBack.current = back;
		}
	}, session.epoch)] });
}
var isLive$1 = ({ status }) => status === "ready" || status === "starting";
function Facts({ session }) {
	const nowMs = Date.now();
	const reason = whyEnded(session);
	const at = (iso) => /* @__PURE__ */ a("time", {
		dateTime: iso,
		title: dayAndTime(iso),
		children: formatRelative(iso, nowMs)
	});
	return /* @__PURE__ */ a("dl", {
		class: "facts",
		children: [
			reason !== null && /* @__PURE__ */ a("div", {
				class: session.error === null ? "wide" : "wide failure",
				children: [/* @__PURE__ */ a("dt", { children: session.error === null ? "Ended" : "Failure" }), /* @__PURE__ */ a("dd", { children: reason })]
			}),
			session.status === "hibernated" && /* @__PURE__ */ a($, { children: [/* @__PURE__ */ a("div", {
				class: "wide",
				children: [/* @__PURE__ */ a("dt", { children: "Hibernated" }), /* @__PURE__ */ a("dd", { children: stateHint(session) })]
			}), /* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: "Kept until" }), /* @__PURE__ */ a("dd", { children: at(session.expires_at) })] })] }),
			isLive$1(session) && /* @__PURE__ */ a($, { children: [/* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: "Expires unless used" }), /* @__PURE__ */ a("dd", { children: at(session.expires_at) })] }), /* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: "Ends at the latest" }), /* @__PURE__ */ a("dd", { children: at(session.ends_at) })] })] }),
			/* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: "Last used" }), /* @__PURE__ */ a("dd", { children: at(session.last_used_at) })] }),
			/* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: "Created" }), /* @__PURE__ */ a("dd", { children: dayAndTime(session.created_at) })] }),
			/* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: "Lease" }), /* @__PURE__ */ a("dd", { children: [
				"epoch ",
				session.epoch,
				", ",
				session.record_video ? "recorded" : "not recorded"
			] })] }),
			/* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: "Session id" }), /* @__PURE__ */ a("dd", { children: /* @__PURE__ */ a("code", { children: session.session_id }) })] })
		]
	});
}
function Actions({ session, onDone }) {
	const [failure, setFailure] = d();
	const [done, setDone] = d();
	const act = (text, work) => async () => {
		setFailure(void 0);
		setDone(void 0);
		try {
			await work();
			setDone(text);
		} catch (error) {
			setFailure(messageOf(error));
		}
		onDone();
	};
	const id = session.session_id;
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("p", {
			class: "actions",
			children: [(isLive$1(session) || session.status === "hibernated") && /* @__PURE__ */ a(Confirm, {
				label: "End the lease",
				question: "The agent loses this browser. End the lease?",
				onConfirm: act("The lease has ended.", () => callConsole("DELETE", `${encodePath`/browser-sessions/${id}`}?epoch=${session.epoch}`))
			}), session.archived_at === null && /* @__PURE__ */ a(Confirm, {
				label: "Archive",
				question: "Archiving ends the lease and takes the session off the list. Archive it?",
				onConfirm: act("The session is archived.", () => callConsole("POST", encodePath`/browser-sessions/${id}/archive`))
			})]
		}),
		/* @__PURE__ */ a(Failure, { text: failure }),
		/* @__PURE__ */ a(Success, { text: done })
	] });
}
function Artifacts({ session, artifacts }) {
	const list = artifacts.value;
	if (!list) return artifacts.error ? /* @__PURE__ */ a(Failure, { text: artifacts.error }) : /* @__PURE__ */ a(Loading, { what: "artifacts" });
	if (list.length === 0) return /* @__PURE__ */ a("p", {
		class: "muted",
		children: isLive$1(session) && session.record_video ? "Videos are stored when the lease ends." : "Nothing was recorded or kept: files go with their session, and pages are kept where that is asked for."
	});
	return /* @__PURE__ */ a($, { children: [list.some(({ kind, state }) => kind === "video" && state === "stored") && /* @__PURE__ */ a("p", { children: /* @__PURE__ */ a("a", {
		href: encodePath`/sessions/${session.session_id}/replay`,
		children: "Replay beside the timeline"
	}) }), /* @__PURE__ */ a("ul", {
		class: "rows",
		children: list.map((artifact) => /* @__PURE__ */ a("li", { children: [
			/* @__PURE__ */ a("strong", { children: artifact.kind }),
			" ",
			artifact.name,
			" of epoch ",
			artifact.epoch,
			", ",
			timeOfDay(artifact.created_at),
			": ",
			artifact.state === "stored" ? `stored, ${formatMegabytes(artifact.bytes ?? 0)}` : artifact.state,
			artifact.reason !== null && ` (${artifact.reason})`,
			artifact.uri !== null && /* @__PURE__ */ a("div", {
				class: "muted long",
				children: artifact.uri
			})
		] }, artifact.id))
	})] });
}
// contract/states.ts
/**
* The states of the three machines of a lease and every legal move between them. The first two are rows of the
* database, whose triggers refuse any other move (`controller/store/functions/guards.sql`;
* test/controller/states.test.ts tries every pair); the third is the memory of one process, and only decides what
* that process does.
*/
var SESSION_STATES = [
	"starting",
	"ready",
	"hibernated",
	"ended",
	"error"
];
// console/web/pages/sessions.tsx
var POLL_MS = 2e3;
var FILTERS = [
	"user_id",
	"status",
	"tag",
	"archived",
	"cursor"
];
/** All sessions, newest first, narrowed by the address's query. */
function SessionsPage({ url }) {
	const filter = (name) => url.searchParams.get(name) ?? "";
	const query = new URLSearchParams(FILTERS.flatMap((name) => filter(name) === "" ? [] : [[name, filter(name)]]));
	const sessions = usePolled(`sessions?${query}`, POLL_MS, (signal) => callConsole("GET", `/browser-sessions?${query}`, void 0, signal));
	const isFiltered = query.size > 0;
	const page = sessions.value;
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("h1", { children: "Sessions" }),
		/* @__PURE__ */ a(Counts, {}),
		/* @__PURE__ */ a(Filters, { filter }),
		/* @__PURE__ */ a(Failure, { text: sessions.error }),
		!page && !sessions.error && /* @__PURE__ */ a(Loading, { what: "sessions" }),
		page?.sessions.length === 0 && (isFiltered ? /* @__PURE__ */ a(Empty, {
			title: "No session matches",
			children: /* @__PURE__ */ a("p", { children: [
				"Change the filters, or ",
				/* @__PURE__ */ a("a", {
					href: "/",
					children: "show all sessions"
				}),
				"."
			] })
		}) : /* @__PURE__ */ a(Empty, {
			title: "No sessions yet",
			children: [/* @__PURE__ */ a("p", { children: "A session appears here when an agent gets its browser. Start one in the folder of the stack:" }), /* @__PURE__ */ a("pre", { children: "npx --no-install omicron-browser session start --user ada --conversation chat-1" })]
		})),
		page && page.sessions.length > 0 && /* @__PURE__ */ a(SessionTable, { sessions: page.sessions }),
		/* @__PURE__ */ a("p", {
			class: "pages",
			children: [filter("cursor") !== "" && /* @__PURE__ */ a("a", {
				href: `/?${withoutParameter(query, "cursor")}`,
				children: "Newest sessions"
			}), page?.next_cursor != null && /* @__PURE__ */ a("a", {
				href: `/?${new URLSearchParams([...withoutParameter(query, "cursor"), ["cursor", page.next_cursor]])}`,
				children: "Older sessions"
			})]
		})
	] });
}
function withoutParameter(query, name) {
	const rest = new URLSearchParams(query);
	rest.delete(name);
	return rest;
}
/** How much of the deployment is in use now. */
function Counts() {
	const { value } = usePolled("fleet", POLL_MS, (signal) => callConsole("GET", "/fleet", void 0, signal));
	const count = (title, number) => /* @__PURE__ */ a("div", { children: [/* @__PURE__ */ a("dt", { children: title }), /* @__PURE__ */ a("dd", { children: number ?? "–" })] });
	return /* @__PURE__ */ a("dl", {
		class: "counts",
		children: [
			count("Live leases", value?.active_sessions),
			count("Starting", value?.starting_sessions),
			count("Warm runners", value?.runners.warm),
			count("Capacity", value?.capacity)
		]
	});
}
function Filters({ filter }) {
	const apply = (form) => {
		const chosen = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
		const query = new URLSearchParams(chosen.filter(([, value]) => value !== ""));
		go(query.size > 0 ? `/?${query}` : "/");
	};
	return /* @__PURE__ */ a("form", {
		class: "filters",
		"aria-label": "Filters",
		onSubmit: (event) => {
			event.preventDefault();
			apply(event.currentTarget);
		},
		onChange: (event) => apply(event.currentTarget),
		children: [
			/* @__PURE__ */ a(TextFilter, {
				label: "User",
				name: "user_id",
				applied: filter("user_id")
			}),
			/* @__PURE__ */ a("label", { children: ["Status", /* @__PURE__ */ a("select", {
				name: "status",
				value: filter("status"),
				children: [/* @__PURE__ */ a("option", {
					value: "",
					children: "Any"
				}), SESSION_STATES.map((state) => /* @__PURE__ */ a("option", {
					value: state,
					children: state
				}))]
			})] }),
			/* @__PURE__ */ a(TextFilter, {
				label: "Tag",
				name: "tag",
				applied: filter("tag"),
				placeholder: "key:value"
			}),
			/* @__PURE__ */ a("label", {
				class: "check",
				children: [/* @__PURE__ */ a("input", {
					type: "checkbox",
					name: "archived",
					value: "true",
					checked: filter("archived") === "true"
				}), "Archived too"]
			}),
			/* @__PURE__ */ a("button", {
				type: "submit",
				children: "Apply"
			})
		]
	});
}
/** Shows what is applied whenever that changes. Typed text stays while the page loads on: a `value` would take it back. */
function TextFilter(props) {
	const { label, name, applied, placeholder } = props;
	const field = T(null);
	F(() => {
		if (field.current) field.current.value = applied;
	}, [applied]);
	return /* @__PURE__ */ a("label", { children: [label, /* @__PURE__ */ a("input", {
		ref: field,
		name,
		placeholder,
		autocomplete: "off"
	})] });
}
function SessionTable({ sessions }) {
	const nowMs = Date.now();
	return /* @__PURE__ */ a("table", {
		class: "cards",
		children: [/* @__PURE__ */ a("thead", { children: /* @__PURE__ */ a("tr", { children: [
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "Conversation"
			}),
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "User"
			}),
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "Status"
			}),
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "Tags"
			}),
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "Last used"
			})
		] }) }), /* @__PURE__ */ a("tbody", { children: sessions.map((session) => /* @__PURE__ */ a("tr", { children: [
			/* @__PURE__ */ a("th", {
				scope: "row",
				children: /* @__PURE__ */ a("a", {
					href: `/sessions/${session.session_id}`,
					children: session.conversation_id
				})
			}),
			/* @__PURE__ */ a("td", {
				"data-title": "User",
				children: session.user_id
			}),
			/* @__PURE__ */ a("td", {
				"data-title": "Status",
				children: [/* @__PURE__ */ a(Status, { session }), /* @__PURE__ */ a("div", {
					class: "muted",
					children: isLive(session) ? `expires ${formatRelative(session.expires_at, nowMs)}` : whyEnded(session)
				})]
			}),
			/* @__PURE__ */ a("td", {
				"data-title": "Tags",
				children: Object.entries(session.tags).map(([name, value]) => /* @__PURE__ */ a("a", {
					class: "tag",
					href: `/?${new URLSearchParams({ tag: `${name}:${value}` })}`,
					children: [
						name,
						":",
						value
					]
				}))
			}),
			/* @__PURE__ */ a("td", {
				"data-title": "Last used",
				children: /* @__PURE__ */ a("time", {
					dateTime: session.last_used_at,
					title: dayAndTime(session.last_used_at),
					children: formatRelative(session.last_used_at, nowMs)
				})
			})
		] }, session.session_id)) })]
	});
}
var isLive = ({ status }) => status === "ready" || status === "starting";
// console/web/pages/sign-in.tsx
/** Why an identity provider's answer was not taken, by the problem's code. */
var REFUSED = {
	forbidden: "Your account has no role in this console. Ask its administrator for one.",
	too_many_requests: "Too many people sign in from this address. Try again in a minute.",
	issuer_unavailable: "The identity provider does not answer. Try again."
};
/**
* Signs in with the one-time link that was opened; asks first where the link has a token of the platform, for anyone who has an
* account there can write such a link, and would see what is typed under their account. Else shows the ways to sign in.
*/
function SignInPage({ url, onSignedIn }) {
	const fragment = url.pathname === "/sign-in" ? url.hash.slice(1) : "";
	const refused = url.searchParams.get("refused");
	const [failure, setFailure] = d(refused === null ? void 0 : REFUSED[refused] ?? "The identity provider did not sign you in. Try again.");
	const [isTrying, setTrying] = d(fragment !== "");
	const [brought, setBrought] = d();
	const tried = T("");
	A(() => {
		document.title = "Sign in · omicron-browser";
		if (fragment === "" || tried.current === fragment) return;
		tried.current = fragment;
		history.replaceState(null, "", "/sign-in");
		const access_token = new URLSearchParams(fragment).get("access_token");
		setTrying(true);
		(access_token === null ? callConsole("POST", "/sign-in", { token: fragment }).then(onSignedIn) : callConsole("POST", "/sign-in/account", { access_token }).then((account) => setBrought({
			access_token,
			account
		}))).catch((error) => setFailure(messageOf(error))).finally(() => setTrying(false));
	}, [fragment, onSignedIn]);
	return /* @__PURE__ */ a("main", {
		class: "sign-in",
		children: [
			/* @__PURE__ */ a("h1", { children: "Sign in to the console" }),
			/* @__PURE__ */ a(Failure, { text: failure }),
			isTrying && /* @__PURE__ */ a(Loading, { what: "the console" }),
			!isTrying && brought && /* @__PURE__ */ a(Question, {
				...brought,
				onCancel: () => setBrought(void 0),
				onSignIn: () => callConsole("POST", "/sign-in", { access_token: brought.access_token }).then(onSignedIn).catch((error) => setFailure(messageOf(error)))
			}),
			!isTrying && !brought && /* @__PURE__ */ a(Ways, { url })
		]
	});
}
function Question({ account, onSignIn, onCancel }) {
	return /* @__PURE__ */ a($, { children: [/* @__PURE__ */ a("p", { children: [
		"This link signs you in as ",
		/* @__PURE__ */ a("strong", { children: account.name }),
		" (",
		account.role,
		"). Continue only if that is your own account: its owner sees what you do in it."
	] }), /* @__PURE__ */ a("p", { children: [
		/* @__PURE__ */ a("button", {
			type: "button",
			onClick: () => void onSignIn(),
			children: ["Sign in as ", account.name]
		}),
		" ",
		/* @__PURE__ */ a("button", {
			type: "button",
			class: "quiet",
			onClick: onCancel,
			children: "Cancel"
		})
	] })] });
}
function Ways({ url }) {
	const wanted = url.pathname === "/sign-in" ? "/" : url.pathname + url.search;
	const ways = usePolled("ways", 6e4, (signal) => callConsole("GET", "/sign-in", void 0, signal));
	if (!ways.value) return ways.error ? /* @__PURE__ */ a(Failure, { text: ways.error }) : /* @__PURE__ */ a(Loading, { what: "the ways to sign in" });
	const has = (way) => ways.value?.ways.includes(way);
	return /* @__PURE__ */ a($, { children: [
		has("oidc") && /* @__PURE__ */ a("p", { children: /* @__PURE__ */ a("a", {
			class: "button",
			href: `${CONSOLE_ROUTES.oidc}?${new URLSearchParams({ to: wanted })}`,
			children: "Sign in with your organisation"
		}) }),
		has("platform") && /* @__PURE__ */ a("p", { children: "Open the console from the application in which your agents work: you are signed in by it." }),
		has("link") && /* @__PURE__ */ a($, { children: [
			/* @__PURE__ */ a("p", { children: "A link signs you in. In the folder of the stack, run:" }),
			/* @__PURE__ */ a("pre", { children: "npx --no-install omicron-browser console" }),
			/* @__PURE__ */ a("p", {
				class: "muted",
				children: "The link works once, within ten minutes. Your sign-in lasts 12 hours or until the stack stops."
			})
		] })
	] });
}
// console/web/pages/webhooks.tsx
/** Endpoints that events are sent to: how far each has come, and what it did not take. For admins. */
function WebhooksPage() {
	const webhooks = usePolled("webhooks", 5e3, async (signal) => {
		return (await callConsole("GET", "/webhooks", void 0, signal)).webhooks;
	});
	const [done, setDone] = d();
	const [failure, setFailure] = d();
	const act = (work) => async () => {
		setDone(void 0);
		setFailure(void 0);
		try {
			setDone(await work());
		} catch (error) {
			setFailure(messageOf(error));
		}
		webhooks.refresh();
	};
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("h1", { children: "Webhooks" }),
		/* @__PURE__ */ a(Failure, { text: failure ?? webhooks.error }),
		/* @__PURE__ */ a(Success, { text: done }),
		webhooks.value === void 0 && webhooks.error === void 0 && /* @__PURE__ */ a(Loading, { what: "webhooks" }),
		webhooks.value?.length === 0 && /* @__PURE__ */ a(Empty, {
			title: "No webhooks yet",
			children: /* @__PURE__ */ a("p", { children: "Add an address below: events of sessions are sent there as they come, signed, and again until they are taken." })
		}),
		/* @__PURE__ */ a("ul", {
			class: "rows",
			children: webhooks.value?.map((webhook) => /* @__PURE__ */ a("li", { children: /* @__PURE__ */ a(WebhookRow, {
				webhook,
				act
			}) }, webhook.id))
		}),
		/* @__PURE__ */ a(NewWebhook, { onAdded: webhooks.refresh })
	] });
}
function WebhookRow({ webhook, act }) {
	const { id, url, kinds, user_id, description, paused_at, failed } = webhook;
	const [isOpen, setOpen] = d(false);
	const [rotated, setRotated] = d();
	const host = new URL(url).host;
	return /* @__PURE__ */ a($, { children: [
		/* @__PURE__ */ a("strong", { children: url }),
		" ",
		/* @__PURE__ */ a("span", {
			class: "muted",
			children: description
		}),
		/* @__PURE__ */ a("div", { children: [
			(kinds ?? ["all kinds"]).join(", "),
			" ",
			user_id !== null && `of ${user_id}`
		] }),
		/* @__PURE__ */ a("div", {
			class: "muted",
			children: stateOf(webhook, Date.now())
		}),
		/* @__PURE__ */ a("p", {
			class: "actions",
			children: [
				/* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: act(async () => {
						const { delivered, error, duration_ms } = await callConsole("POST", encodePath`/webhooks/${id}/test`);
						if (!delivered) throw new Error(`${host} did not take the test: ${error}.`);
						return `${host} took the test in ${duration_ms} ms.`;
					}),
					children: "Test"
				}),
				/* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: act(async () => {
						await callConsole("POST", encodePath`/webhooks/${id}/${paused_at === null ? "pause" : "resume"}`);
						return paused_at === null ? `${host} is paused.` : `${host} goes on.`;
					}),
					children: paused_at === null ? "Pause" : "Resume"
				}),
				failed > 0 && /* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					"aria-expanded": isOpen,
					onClick: () => setOpen(!isOpen),
					children: [
						"Undelivered (",
						failed,
						")"
					]
				}),
				/* @__PURE__ */ a(Confirm, {
					label: "Rotate secret",
					question: `A new secret signs events to ${host}; for a day the one before signs too. Make it?`,
					onConfirm: act(async () => {
						setRotated(void 0);
						setRotated(await callConsole("POST", encodePath`/webhooks/${id}/rotate-secret`));
						return `${host} has a new secret.`;
					})
				}),
				/* @__PURE__ */ a(Confirm, {
					label: `Delete ${host}`,
					question: "Events are no longer sent there, and its list of undelivered ones goes. Delete it?",
					onConfirm: act(async () => {
						await callConsole("DELETE", encodePath`/webhooks/${id}`);
						return `${host} is deleted.`;
					})
				})
			]
		}),
		rotated !== void 0 && /* @__PURE__ */ a("div", {
			class: "notice success",
			role: "status",
			children: [
				"Its new secret, which is shown this once: ",
				/* @__PURE__ */ a("code", { children: rotated.secret }),
				" The one before signs too until",
				" ",
				dayAndTime(rotated.both_until),
				".",
				" ",
				/* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: () => setRotated(void 0),
					children: "Hide"
				})
			]
		}),
		isOpen && failed > 0 && /* @__PURE__ */ a(Undelivered, {
			id,
			act
		})
	] });
}
function stateOf({ paused_at, waiting_sessions, last_error, delivered_at }, nowMs) {
	const delivered = delivered_at === null ? "Nothing was delivered yet" : `Delivered ${formatRelative(delivered_at, nowMs)}`;
	if (paused_at !== null) return `Paused ${formatRelative(paused_at, nowMs)}. ${delivered}.`;
	if (waiting_sessions === 0) return `${delivered}.`;
	return `${delivered}. Events of ${waiting_sessions} ${waiting_sessions === 1 ? "session" : "sessions"} wait: ${last_error}.`;
}
function Undelivered({ id, act }) {
	const page = usePolled(`failures ${id}`, 5e3, (signal) => callConsole("GET", encodePath`/webhooks/${id}/failures`, void 0, signal));
	if (!page.value) return page.error ? /* @__PURE__ */ a(Failure, { text: page.error }) : /* @__PURE__ */ a(Loading, { what: "events" });
	return /* @__PURE__ */ a($, { children: [/* @__PURE__ */ a("table", { children: [
		/* @__PURE__ */ a("caption", { children: ["Events that were not delivered within a day", page.value.next_cursor !== null && ", the newest ones"] }),
		/* @__PURE__ */ a("thead", { children: /* @__PURE__ */ a("tr", { children: [
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "Event"
			}),
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "Time"
			}),
			/* @__PURE__ */ a("th", {
				scope: "col",
				children: "Why"
			})
		] }) }),
		/* @__PURE__ */ a("tbody", { children: page.value.failures.map(({ id: event, session_id, kind, at, error, attempts, replaying }) => /* @__PURE__ */ a("tr", { children: [
			/* @__PURE__ */ a("th", {
				scope: "row",
				children: /* @__PURE__ */ a("a", {
					href: `/sessions/${session_id}`,
					children: kind
				})
			}),
			/* @__PURE__ */ a("td", { children: dayAndTime(at) }),
			/* @__PURE__ */ a("td", { children: replaying ? "is sent again" : `${error}, ${attempts} ${attempts === 1 ? "attempt" : "attempts"}` })
		] }, event)) })
	] }), /* @__PURE__ */ a("p", { children: /* @__PURE__ */ a("button", {
		type: "button",
		onClick: act(async () => {
			const { replayed } = await callConsole("POST", encodePath`/webhooks/${id}/replay`, {});
			return `${replayed} ${replayed === 1 ? "event is" : "events are"} sent again.`;
		}),
		children: "Send all again"
	}) })] });
}
function NewWebhook({ onAdded }) {
	const { answer, failure, isRunning, onSubmit } = useSubmission(async (fields) => {
		const kinds = typedIn(fields, "kinds").split(/[\s,]+/).filter((kind) => kind !== "");
		const added = await callConsole("POST", "/webhooks", {
			url: typedIn(fields, "url"),
			kinds: kinds.length === 0 ? null : kinds,
			user_id: typedIn(fields, "user") || null,
			description: typedIn(fields, "description")
		});
		onAdded();
		return added;
	});
	return /* @__PURE__ */ a("form", {
		class: "form",
		"aria-label": "New webhook",
		onSubmit,
		children: [
			/* @__PURE__ */ a("h2", { children: "New webhook" }),
			/* @__PURE__ */ a("label", { children: ["Address", /* @__PURE__ */ a("input", {
				name: "url",
				type: "url",
				required: true,
				maxLength: 2e3,
				placeholder: "https://example.com/hooks",
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", { children: ["Kinds of events (empty: all)", /* @__PURE__ */ a("input", {
				name: "kinds",
				placeholder: "session.ended session.error",
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", { children: ["User (empty: all)", /* @__PURE__ */ a("input", {
				name: "user",
				maxLength: 256,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a("label", { children: ["Description", /* @__PURE__ */ a("input", {
				name: "description",
				maxLength: 200,
				autocomplete: "off"
			})] }),
			/* @__PURE__ */ a(Failure, { text: failure }),
			answer !== void 0 && /* @__PURE__ */ a("div", {
				class: "notice success",
				role: "status",
				children: ["Its secret, which is shown this once: ", /* @__PURE__ */ a("code", { children: answer.secret })]
			}),
			/* @__PURE__ */ a("p", {
				class: "actions",
				children: /* @__PURE__ */ a("button", {
					type: "submit",
					disabled: isRunning,
					children: "Add"
				})
			})
		]
	});
}
// console/web/app.tsx
var REQUESTS_MS = 1e3;
/** The page of an address, its title, and the entry of the menu that it belongs to. */
function pageOf(url, requests) {
	const [, id] = /^\/sessions\/([^/]+)$/.exec(url.pathname) ?? [];
	if (id !== void 0) return {
		title: "Session",
		entry: "/",
		page: /* @__PURE__ */ a(SessionDetail, {
			id,
			requests
		})
	};
	const [, recorded] = /^\/sessions\/([^/]+)\/replay$/.exec(url.pathname) ?? [];
	if (recorded !== void 0) return {
		title: "Replay",
		entry: "/",
		page: /* @__PURE__ */ a(ReplayPage, { id: recorded })
	};
	switch (url.pathname) {
		case "/requests": return {
			title: "Requests",
			entry: "/requests",
			page: /* @__PURE__ */ a(RequestsPage, { requests })
		};
		case "/credentials": return {
			title: "Credentials",
			entry: "/credentials",
			page: /* @__PURE__ */ a(CredentialsPage, { url })
		};
		case "/profiles": return {
			title: "Profiles",
			entry: "/profiles",
			page: /* @__PURE__ */ a(ProfilesPage, { url })
		};
		case "/policies": return {
			title: "Policies",
			entry: "/policies",
			page: /* @__PURE__ */ a(PoliciesPage, { url })
		};
		case "/webhooks": return {
			title: "Webhooks",
			entry: "/webhooks",
			page: /* @__PURE__ */ a(WebhooksPage, {})
		};
		default: return {
			title: "Sessions",
			entry: "/",
			page: /* @__PURE__ */ a(SessionsPage, { url })
		};
	}
}
/** The whole console: the sign-in, or a page under the menu. */
function App() {
	const url = useLocation();
	const [isSignedOut, setSignedOut] = d(false);
	A(() => {
		const note = () => setSignedOut(true);
		signedOut.addEventListener("signed-out", note);
		return () => signedOut.removeEventListener("signed-out", note);
	}, []);
	const [, previewed] = /^\/preview\/([^/]+)$/.exec(url.pathname) ?? [];
	if (previewed !== void 0 && !isSignedOut) return /* @__PURE__ */ a(PreviewPage, {
		id: previewed,
		url
	});
	if (isSignedOut || url.pathname === "/sign-in") return /* @__PURE__ */ a(SignInPage, {
		url,
		onSignedIn: () => {
			setSignedOut(false);
			go("/", { replace: true });
		}
	});
	return /* @__PURE__ */ a(SignedIn, { url });
}
function SignedIn({ url }) {
	const requests = usePolled("requests", REQUESTS_MS, async (signal) => {
		const { user_actions } = await callConsole("GET", "/user-actions", void 0, signal);
		return user_actions;
	});
	const person = usePolled("me", 3e5, (signal) => callConsole("GET", "/me", void 0, signal));
	const me = person.value;
	const { title, entry, page } = pageOf(url, requests);
	const waiting = requests.value?.length ?? 0;
	A(() => {
		document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · omicron-browser`;
	}, [title, waiting]);
	const item = (href, text, count = 0) => /* @__PURE__ */ a("li", { children: /* @__PURE__ */ a("a", {
		href,
		"aria-current": entry === href ? "page" : void 0,
		children: [text, count > 0 && /* @__PURE__ */ a("span", {
			class: "badge",
			children: [count, /* @__PURE__ */ a("span", {
				class: "unseen",
				children: " waiting"
			})]
		})]
	}) });
	return /* @__PURE__ */ a("div", {
		onClick: followLinks,
		children: [
			/* @__PURE__ */ a("a", {
				class: "skip",
				href: "#content",
				children: "Skip to the content"
			}),
			/* @__PURE__ */ a("header", { children: [
				/* @__PURE__ */ a("a", {
					class: "name",
					href: "/",
					children: [/* @__PURE__ */ a("img", {
						src: "/icon.svg",
						alt: ""
					}), "omicron-browser"]
				}),
				/* @__PURE__ */ a("nav", {
					"aria-label": "Pages",
					children: /* @__PURE__ */ a("ul", { children: [
						item("/", "Sessions"),
						item("/requests", "Requests", waiting),
						item("/credentials", "Credentials"),
						item("/profiles", "Profiles"),
						me && mayAs(me.role, "admin") && item("/policies", "Policies"),
						me && mayAs(me.role, "admin") && item("/webhooks", "Webhooks")
					] })
				}),
				/* @__PURE__ */ a("span", {
					class: "who muted",
					title: me?.role,
					children: me?.name
				}),
				/* @__PURE__ */ a("button", {
					type: "button",
					class: "quiet",
					onClick: signOut,
					children: "Sign out"
				})
			] }),
			/* @__PURE__ */ a("main", {
				id: "content",
				tabIndex: -1,
				children: me ? /* @__PURE__ */ a(MeContext.Provider, {
					value: me,
					children: page
				}) : /* @__PURE__ */ a(Unknown, { error: person.error })
			}, url.pathname)
		]
	});
}
/** Until it is known who is signed in: pages differ by that. */
var Unknown = ({ error }) => error === void 0 ? /* @__PURE__ */ a(Loading, { what: "the console" }) : /* @__PURE__ */ a(Failure, { text: error });
async function signOut() {
	await callConsole("DELETE", "/sign-in").catch(() => {});
	signedOut.dispatchEvent(new Event("signed-out"));
}
// console/web/main.tsx
Q(/* @__PURE__ */ a(App, {}), document.body);
