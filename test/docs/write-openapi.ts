import { writeFileSync } from 'node:fs';
import { openApiDocuments } from './openapi-documents.ts';

// `npm run openapi`: writes the OpenAPI documents of docs/ from the routes.
for (const [path, document] of await openApiDocuments()) writeFileSync(path, `${JSON.stringify(document, null, 2)}\n`);
