import { type Agent, defineAgent, type Tool } from 'spindle/worker';

/** An agent that looks after text files. A person says yes before it writes. */
export function folderAgent(tools: readonly Tool[], model: string): Agent {
  return defineAgent({
    id: 'folder',
    description: 'Finds things in the text files of a folder, and writes notes.',
    model,
    system: 'You look after the text files of one folder. Say what the tools answer, and nothing else.',
    tools,
    approval: { names: ['write_note'] },
  });
}
