import { defineConfig } from 'vitest/config';

/** The secret store on a HashiCorp Vault that is built first: minutes where Go has compiled none of it, so not in CI. */
export default defineConfig({
  test: {
    name: 'vault',
    include: ['test/controller/secrets/*.vault.ts'],
    pool: 'forks',
    hookTimeout: 1_800_000,
  },
});
