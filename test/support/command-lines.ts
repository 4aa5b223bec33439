import type { Command } from '../../src/clients/command/command.ts'

/** A command line with all that the command requires; each file that it names exists. */
export const lineOf = ({ name, args, choices, options, asks }: Command): string[] => [
  ...name.split(' '),
  ...args.filter((each) => !each.startsWith('[')).map((each) => choices?.[each]?.[0] ?? 'x.html'),
  ...Object.entries(options).flatMap(([option, { required, choices: of }]) => (required ? [`--${option}`, of?.[0] ?? 'x'] : [])),
  ...(asks ? ['--yes'] : []),
]
