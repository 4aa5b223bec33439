import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import type { namedSmarthost } from '../../api/resource/named-smarthost-operations.ts'
import { argument, type Command } from './command.ts'

type ShownSmarthost = ReturnType<typeof namedSmarthost.answer>

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
  apiCommand({
    name: 'smarthost add',
    does: 'smarthosts.create',
    args: { NAME: 'name' },
    takesBody: true,
    of: serverWide,
    doc: 'Adds a smarthost for routes, besides the one of the settings, and prints it as JSON.',
  }),
  apiCommand<{ data: ShownSmarthost[] }>({
    name: 'smarthost list',
    does: 'smarthosts.list',
    of: serverWide,
    whole: true,
    doc: 'Lists the smarthosts that were added.',
    columns: {
      NAME: ({ name }) => name,
      HOST: ({ host, port }) => `${host}:${port}`,
      TLS: ({ tls, verify }) => (tls === 'opportunistic' || verify ? tls : `${tls}, not verified`),
      USER: ({ login }) => login?.user ?? '-',
      SENDER: ({ sender }) => sender ?? '-',
    },
  }),
  apiCommand({ name: 'smarthost change', does: 'smarthosts.update', args: { NAME: 'id' }, takesBody: true, of: serverWide }),
  apiCommand({
    name: 'smarthost remove',
    does: 'smarthosts.delete',
    args: { NAME: 'id' },
    of: serverWide,
    asks: (input) => `Remove the smarthost ${argument(input, 0)}?`,
    show: (_, { input }) => ({ stdout: '', stderr: `${argument(input, 0)} is removed.\n` }),
  }),
  apiCommand({ name: 'smarthost retry', does: 'smarthost.retry', of: serverWide }),
]
