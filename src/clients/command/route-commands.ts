import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import type { providerStop } from '../../api/resource/shaping-operations.ts'
import { printable, shownTime, type Command } from './command.ts'

export const routeCommands: Command[] = [
  apiCommand({ name: 'explain', does: 'explain.address', args: { ADDRESS: 'to' }, of: serverWide }),
  apiCommand<{ data: ReturnType<typeof providerStop.answer>[] }>({
    name: 'shaping',
    does: 'shaping.list',
    of: serverWide,
    columns: {
      DESTINATIONS: ({ group }) => group,
      FROM: ({ source_address }) => source_address ?? 'any',
      UNTIL: ({ until }) => shownTime(Date.parse(until)),
      REPLY: ({ reason }) => printable(reason),
    },
  }),
  apiCommand({ name: 'mta-sts show', does: 'mta_sts.get', args: { DOMAIN: 'domain' }, of: serverWide }),
  apiCommand({ name: 'mta-sts refresh', does: 'mta_sts.refresh', args: { DOMAIN: 'domain' }, of: serverWide }),
]
