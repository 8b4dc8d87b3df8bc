import type { Routes } from '../serve-cases.ts';

export default {
  'index.html': (request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.write('<!doctype html><title>Log</title><h1>Build log</h1>');
    let line = 0;
    const timer = setInterval(() => response.write(`<p>line ${line++}</p>`), 200);
    request.on('close', () => clearInterval(timer));
  },
  picture: (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<h1>Camera</h1><img src="endless">');
  },
  endless: (request, response) => {
    response.writeHead(200, { 'content-type': 'multipart/x-mixed-replace; boundary=part' });
    const timer = setInterval(() => response.write(`--part\r\ncontent-type: image/svg+xml\r\n\r\n${PICTURE}\r\n`), 100);
    request.on('close', () => clearInterval(timer));
  },
  link: (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<a href="./">Log</a>'),
} satisfies Routes;

const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>';
