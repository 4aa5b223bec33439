import type { Command } from './command.ts'

/** These have no `run`: they need neither a server nor its data, so main.ts runs them. */
export const trackingCommands: Command[] = [
  {
    name: 'tracking rewrite',
    needs: 'nothing',
    args: ['FILE'],
    options: {
      charset: { type: 'string', value: 'NAME', doc: 'The charset of the file; default: utf-8.' },
      links: { type: 'boolean', doc: 'Prints the links that would be rewritten instead, one line of JSON each.' },
    },
    doc:
      'Prints an HTML file with its links rewritten as in mail with click tracking, without the pixel. With --links: where each ' +
      "attribute's value is in the file (in bytes, end excluded), and where the link leads.",
  },
  {
    name: 'tracking judge',
    needs: 'settings',
    args: ['FILE…'],
    options: {},
    doc:
      'Judges which opens and clicks come from machines, with the verdicts as they are once everything has settled. Each input line ' +
      'is JSON that lists the hits on one recipient\'s message; each output line is `{"id", "hits": [{"bot", "reason", ' +
      '"confidence"}]}`. docs/tracking.md describes the input. Uses the setting tracking.scanner_networks.',
  },
]
