import { createMemoryTokens } from '../../src/journal/memory-tokens.ts';
import { describeTokenStore } from '../contract/tokens.ts';

describeTokenStore('memory', async () => createMemoryTokens());
