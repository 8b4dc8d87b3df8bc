import type { Routes } from '../serve-cases.ts';

const hang = () => {};

export default {
  'index.html': (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(
      `<!doctype html><title>Shop</title><h1>Prices</h1><label>Note <input></label><iframe title=Map src=frame></iframe><iframe title=Basket src=basket></iframe>
<img src=picture alt=Roof><p>Bread 2 EUR</p><link rel=stylesheet href=style><script src=script></script><p>After the script</p>`,
    ),
  basket: (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<p>Basket: empty</p><iframe title=Offer src=frame></iframe>'),
  ...{ frame: hang, picture: hang, style: hang, script: hang },
} satisfies Routes;
