import type { Routes } from '../serve-cases.ts';

const asks =
  (challenge: string | string[]): Routes[string] =>
  (_request, response) =>
    response.writeHead(401, { 'content-type': 'text/html', 'www-authenticate': challenge }).end('<h1>No</h1>');

export default {
  'index.html': (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Report</h1><iframe src="basic"></iframe>'),
  basic: asks('Basic realm="Figures"'),
  token: asks('Bearer realm="api"'),
  both: asks(['Bearer realm="api"', 'Basic realm="Staff"']),
} satisfies Routes;
