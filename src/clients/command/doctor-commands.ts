import { textOption, type Command } from './command.ts'

export const doctorCommands: Command[] = [
  {
    name: 'doctor',
    advises: true,
    needs: (input) => (textOption(input, 'of') === undefined ? 'data' : 'settings'),
    reads: true,
    args: [],
    options: {
      of: { type: 'string', value: 'HOST', doc: 'Examines another server from this machine, as the internet sees it.' },
    },
    doc:
      'Checks what a mail server needs: port 25, names, DNS records, certificate, clock, disk, blocklists. Exits with an error if a ' +
      'check fails.',
    async run(_input, services) {
      return (await import('./examine-server.ts')).examineThis(services)
    },
  },
]
