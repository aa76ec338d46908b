/** An MCP server on stdio that does what it should not. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const server = new Server({ name: 'frail', version: '1' }, { capabilities: { tools: {} } });
const names = ['echo', 'die', 'babble', 'environment'];

server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: names.map((name) => ({ name, description: name, inputSchema: { type: 'object' } })),
}));

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  if (params.name === 'die') process.exit(1);
  switch (params.name) {
    case 'babble':
      process.stdout.write('npm notice: this is no message\n{"jsonrpc":"2.0","id":999,"result":{}}\n{}\n');
      return text('behind the noise');
    case 'environment':
      return { content: [], structuredContent: { ...process.env } };
  }
  return text(String(params.arguments?.['text'] ?? ''));
});

await server.connect(new StdioServerTransport());
