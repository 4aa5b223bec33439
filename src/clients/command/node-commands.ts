import type { nodeResource } from '../../api/resource/node-operations.ts'
import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import { shownTime, type Command } from './command.ts'

type ShownNode = ReturnType<typeof nodeResource.answer>

export const nodeCommands: Command[] = [
  apiCommand<{ data: ShownNode[] }>({
    name: 'node list',
    does: 'nodes.list',
    of: serverWide,
    doc: 'Lists the servers that run on the database, with the addresses that their mail leaves from, and their faults.',
    columns: {
      NODE: ({ id }) => id,
      MACHINE: ({ machine }) => machine,
      VERSION: ({ version }) => version,
      STARTED: ({ started_at: at }) => shownTime(Date.parse(at)),
      'LAST HEARD': ({ heard_at: at }) => shownTime(Date.parse(at)),
      ADDRESSES: ({ addresses }) => addresses.join(',') || '-',
      FAULTS: ({ faults }) => faults.map(({ name }) => name).join(',') || '-',
    },
  }),
]
