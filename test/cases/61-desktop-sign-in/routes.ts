import type { Routes } from '../serve-cases.ts';

const leadsTo =
  (location: string): Routes[string] =>
  (_request, response) =>
    response.writeHead(302, { location }).end();

/** Nothing listens there, as where the program is on another machine. */
export default {
  code: leadsTo('http://127.0.0.1:9009/callback?code=abc123&state=s1'),
  token: leadsTo('http://localhost:9009/#access_token=tok456'),
} satisfies Routes;
