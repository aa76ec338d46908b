/**
 * An engine whose gateway MCP's own conformance suite can look at, with a worker for the tools that it asks for:
 *
 *     node test/gateway/conformance/server-process.ts
 *     npx @modelcontextprotocol/conformance server --url http://127.0.0.1:7434/mcp
 */
import { createEngine } from '../../../src/main.ts';
import {
  audio,
  createWorker,
  defineTool,
  image,
  resource,
  ToolError,
  text,
} from '../../../src/sdk/worker/index.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const WAV = Buffer.from('UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==', 'base64');

const plain = (name: string, execute: () => unknown) =>
  defineTool({ name, description: name, execute: execute as () => string });

const tools = [
  plain('test_simple_text', () => 'This is a simple text response for testing.'),
  plain('test_image_content', () => image(PNG, 'image/png')),
  plain('test_audio_content', () => audio(WAV, 'audio/wav')),
  plain('test_embedded_resource', () =>
    resource('test://embedded-resource', 'This is an embedded resource content.', 'text/plain'),
  ),
  plain('test_multiple_content_types', () => [
    text('Multiple content types test:'),
    image(PNG, 'image/png'),
    resource('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
  ]),
  plain('test_error_handling', () => {
    throw new ToolError('This tool intentionally returns an error for testing');
  }),
  defineTool({
    name: 'test_tool_with_progress',
    description: 'Reports progress.',
    async execute(_, { progress }) {
      for (const completed of [0, 50, 100]) {
        progress({ completed, total: 100, activity: `Completed step ${completed} of 100` });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return 'done';
    },
  }),
  defineTool({
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    jsonSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
      },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    execute: () => 'ok',
  }),
];

const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: '127.0.0.1:7434' });
const worker = createWorker({ address: engine.grpcAddress, tools });
const running = worker.run();
await worker.ready;
process.stdout.write(`http://${engine.httpAddress}/mcp\n`);
process.once('SIGTERM', () => {
  worker.stop().then(() => engine.stop(0));
});
await running;
