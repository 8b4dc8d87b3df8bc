import pg from 'pg';

/** An empty database of a server; its address. */
export async function newDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client(`${serverUrl}/postgres`);
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return `${serverUrl}/${name}`;
}
