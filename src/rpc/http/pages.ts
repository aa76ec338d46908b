import type { Service } from '../service.ts';

/** An answer of the HTTP port that is not an RPC's, in the shape of Connect's errors where it is one. */
export interface Page {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const PAGES = {
  400: { code: 'invalid_argument', message: 'The path and the Host header make no URL.' },
  403: {
    code: 'permission_denied',
    message:
      'This port does not answer to the name in the Host header. Use its address in the URL, or localhost on the same ' +
      'machine; the setting http_hosts of the engine has the other names.',
  },
  404: {
    code: 'not_found',
    message: 'Nothing is here. Methods are called by POST /SERVICE/METHOD; GET / lists the services.',
  },
  405: { code: 'unimplemented', message: 'Methods are called by POST.' },
  415: {
    code: 'invalid_argument',
    message:
      'A method with one answer takes application/json, application/proto or application/grpc-web+proto. One with a ' +
      'stream of answers takes application/connect+json, application/connect+proto or application/grpc-web+proto.',
  },
} as const;

export function pageFor(status: keyof typeof PAGES): Page {
  return { status, body: PAGES[status] };
}

/** What a path shows where no method is. */
export function pageAt(verb: string | undefined, path: string, services: readonly Service[]): Page {
  if (path !== '/' || verb !== 'GET') return pageFor(404);
  return {
    status: 200,
    body: {
      name: 'spindle',
      about: 'A tool-call engine. This port speaks Connect, gRPC-Web and JSON; gRPC has its own port.',
      services: services.map(({ desc }) => desc.typeName),
      example: `curl -H 'content-type: application/json' -d '{}' http://HOST:PORT/spindle.v1.ToolService/ListTools`,
    },
  };
}
