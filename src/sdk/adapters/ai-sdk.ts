/** The catalog of an engine as tools of the Vercel AI SDK. Published as `spindle/ai-sdk`; `ai` is an optional peer. */
import { dynamicTool, jsonSchema, type ToolSet } from 'ai';
import type { Client } from '../client/client.ts';
import {
  type CallOutput,
  type CatalogTool,
  type CatalogToolsOptions,
  catalogTools,
} from './catalog-tools.ts';

export { CallFailedError } from './catalog-tools.ts';
export type { CatalogToolsOptions };

/**
 * The tools that an engine offers at the moment, each call of which is an ordinary direct call: checked, held to its
 * deadline, retried and recorded. Aborting the generation cancels its calls.
 *
 *     const tools = await aiSdkTools(createClient());
 *     const { text } = await generateText({ model, tools, stopWhen: stepCountIs(5), prompt });
 */
export async function aiSdkTools(client: Client, options: CatalogToolsOptions = {}): Promise<ToolSet> {
  const tools = await catalogTools(client, options);
  return Object.fromEntries(tools.map((tool) => [tool.name, aiSdkTool(tool)]));
}

function aiSdkTool({ description, inputSchema, call }: CatalogTool): ToolSet[string] {
  return dynamicTool({
    description,
    inputSchema: jsonSchema(inputSchema),
    execute: async (args, { abortSignal }) => call(args, abortSignal),
    toModelOutput: ({ output }) => modelOutput(output as CallOutput),
  });
}

function modelOutput(output: CallOutput) {
  switch (output.kind) {
    case 'text':
      return { type: 'text' as const, value: output.text };
    case 'value':
      // It was JSON on its way here.
      return { type: 'json' as const, value: output.value as null };
    case 'parts':
      return {
        type: 'content' as const,
        value: output.parts.map((part) =>
          part.type === 'text'
            ? part
            : {
                type: 'file' as const,
                data: { type: 'data' as const, data: part.data },
                mediaType: part.mediaType,
              },
        ),
      };
  }
}
