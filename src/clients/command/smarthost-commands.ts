import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import type { Command } from './command.ts'

export const smarthostCommands: Command[] = [
  apiCommand({ name: 'smarthost show', does: 'smarthost.get', of: serverWide }),
  apiCommand<{ url: string }>({
    name: 'smarthost authorize',
    does: 'smarthost.authorize',
    of: serverWide,
    show: ({ url }) => ({
      stdout: `${url}\n`,
      stderr:
        'Open this page as the owner of the mailbox, and agree. The browser then shows that it cannot open http://localhost.\n' +
        "Copy that address, and run: sterna smarthost connect 'ADDRESS'\n",
    }),
  }),
  apiCommand({
    name: 'smarthost connect',
    does: 'smarthost.connect',
    args: { ADDRESS: 'address' },
    onlyNamed: true,
    of: serverWide,
  }),
  apiCommand({ name: 'smarthost retry', does: 'smarthost.retry', of: serverWide }),
]
