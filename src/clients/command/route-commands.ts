import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import type { Command } from './command.ts'

export const routeCommands: Command[] = [
  apiCommand({ name: 'explain', does: 'explain.address', args: { ADDRESS: 'to' }, of: serverWide }),
  apiCommand({ name: 'mta-sts show', does: 'mta_sts.get', args: { DOMAIN: 'domain' }, of: serverWide }),
  apiCommand({ name: 'mta-sts refresh', does: 'mta_sts.refresh', args: { DOMAIN: 'domain' }, of: serverWide }),
]
