import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes and real sockets are part of the suite; a hung one must fail, not block for ever.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
