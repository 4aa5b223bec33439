import { cases } from './cases.ts'

interface Option {
  type: 'string' | 'boolean'
  multiple?: boolean
  default?: string | boolean | string[]
  /** What its value is called in the help. */
  value?: string
  meaning: string
}

/** The command line of the benchmark: what it takes, and what `--help` says. */
export const options = {
  case: { type: 'string', multiple: true, default: ['2kb', '50kb', 'http'], value: 'NAME', meaning: 'what is measured; may be repeated' },
  rounds: { type: 'string', default: '3', value: 'N', meaning: 'the figures are the medians of so many rounds' },
  messages: { type: 'string', default: '6000', value: 'N', meaning: 'sent in each round; fewer of those that cost more' },
  'warm-up': { type: 'string', default: '1000', value: 'N', meaning: 'sent before those that count' },
  domains: { type: 'string', default: '1', value: 'N', meaning: 'so many destinations' },
  'http-seconds': { type: 'string', default: '5', value: 'S', meaning: 'how long requests are made over HTTP' },
  cores: { type: 'string', value: 'N,...', meaning: 'each case again with so many cores for the server' },
  alone: { type: 'boolean', default: false, meaning: 'without Postfix' },
  against: { type: 'string', value: 'COMMIT', meaning: 'beside this commit, in bursts in random turn, by thread, without Postfix' },
  nodes: {
    type: 'boolean',
    default: false,
    meaning: 'PostgreSQL beside files, and two nodes beside one, in bursts in random turn, without Postfix',
  },
  allocations: { type: 'boolean', default: false, meaning: 'only the bytes that each thread allocates for a message' },
  check: { type: 'boolean', default: false, meaning: 'with --allocations: whether they are those of bench/allocations.json' },
  keep: { type: 'boolean', default: false, meaning: 'with --allocations: write them to bench/allocations.json' },
  waiting: { type: 'string', default: '6000,100000', value: 'N,...', meaning: 'how many messages wait in the case fairness' },
  backlog: { type: 'string', default: '1000000', value: 'N', meaning: 'how many messages wait in the case backlog' },
  json: { type: 'boolean', default: false, meaning: 'one object at the end instead of tables' },
  help: { type: 'boolean', default: false, meaning: 'this text' },
} as const satisfies Record<string, Option>

const otherCases = {
  backlog: 'many messages are overdue for a host that is dead, and others come for one that is not',
  fairness: 'single messages of one account while many of another wait, at hosts that take 50 ms a message; 50 every 200 ms',
  http: 'accepted over HTTP: 2 KB of HTML, 50 connections, nothing delivered meanwhile',
}

const line = (words: string, meaning: string): string => `  ${words.padEnd(24)}  ${meaning}`

export const help = [
  'npm run bench -- [OPTION...]',
  '',
  ...Object.entries<Option>(options).map(([name, { value, default: preset, meaning }]) => {
    const unless = typeof preset === 'boolean' || preset === undefined ? '' : ` (${[preset].flat().join(', ')})`
    return line(`--${name}${value ? ` ${value}` : ''}`, `${meaning}${unless}`)
  }),
  '',
  'Cases: 10 connections, 10 messages of 2 KB a connection, no TLS, unless they say otherwise.',
  ...Object.entries(cases).map(([name, { meaning }]) => line(name, meaning)),
  ...Object.entries(otherCases).map(([name, meaning]) => line(name, meaning)),
].join('\n')

/** Names that `--case` does not know. */
export const unknownCases = (names: readonly string[]): string[] => names.filter((name) => !(name in cases) && !(name in otherCases))
