/**
 * The catalog of an engine as tools of the OpenAI Agents SDK. Published as `spindle/openai-agents`; `@openai/agents`
 * is an optional peer.
 */
import { type Tool, tool } from '@openai/agents';
import type { Client } from '../client/client.ts';
import {
  CallFailedError,
  type CallOutput,
  type CatalogTool,
  type CatalogToolsOptions,
  catalogTools,
} from './catalog-tools.ts';

export { CallFailedError } from './catalog-tools.ts';
export type { CatalogToolsOptions };

/**
 * The tools that an engine offers at the moment, each call of which is an ordinary direct call: checked, held to its
 * deadline, retried and recorded. A failure is what the model reads in place of a result.
 *
 *     const agent = new Agent({ name: 'helper', tools: await openaiAgentsTools(createClient()) });
 */
export async function openaiAgentsTools(client: Client, options: CatalogToolsOptions = {}): Promise<Tool[]> {
  const tools = await catalogTools(client, options);
  return tools.map(agentsTool);
}

function agentsTool({ name, description, inputSchema, call }: CatalogTool): Tool {
  return tool({
    name,
    description,
    strict: false,
    // The type asks for members that JSON Schema does not.
    parameters: inputSchema as {
      type: 'object';
      properties: object;
      required: [];
      additionalProperties: true;
    },
    async execute(args, _context, details) {
      try {
        return outputOf(await call(args, details?.signal));
      } catch (error) {
        if (error instanceof CallFailedError) return error.message;
        throw error;
      }
    },
  });
}

function outputOf(output: CallOutput) {
  switch (output.kind) {
    case 'text':
      return output.text;
    case 'value':
      return JSON.stringify(output.value);
    case 'parts':
      return output.parts.map((part) =>
        part.type === 'text'
          ? part
          : part.mediaType.startsWith('image/')
            ? { type: 'image', image: { data: part.data, mediaType: part.mediaType } }
            : { type: 'file', file: { data: part.data, mediaType: part.mediaType, filename: 'output' } },
      );
  }
}
