import type { Routes } from '../serve-cases.ts';

export default {
  r: (_request, response) => response.writeHead(302, { location: 'com.example.app:/callback?code=abc123' }).end(),
} satisfies Routes;
