interface Option {
  type: 'string' | 'boolean'
  default?: string | boolean
  /** What its value is called in the help. */
  value?: string
  meaning: string
}

/** The command line of the benchmark: what it takes, and what `--help` says. */
export const options = {
  rounds: { type: 'string', default: '3', value: 'N', meaning: 'the figures are the medians of so many rounds' },
  messages: { type: 'string', default: '6000', value: 'N', meaning: 'sent in each round; half of them at 50 KB' },
  'warm-up': { type: 'string', default: '1000', value: 'N', meaning: 'sent before those that count' },
  domains: { type: 'string', default: '1', value: 'N', meaning: 'so many destinations' },
  'http-seconds': { type: 'string', default: '5', value: 'S', meaning: 'how long requests are made over HTTP' },
  alone: { type: 'boolean', default: false, meaning: 'without Postfix' },
  tracked: { type: 'string', value: 'true|false', meaning: 'mail has links, and its opens and clicks are tracked or not' },
  allocations: { type: 'boolean', default: false, meaning: 'only the bytes that each thread allocates for a message' },
  check: { type: 'boolean', default: false, meaning: 'with --allocations: whether they are those of bench/allocations.json' },
  keep: { type: 'boolean', default: false, meaning: 'with --allocations: write them to bench/allocations.json' },
  json: { type: 'boolean', default: false, meaning: 'one object at the end instead of lines' },
  help: { type: 'boolean', default: false, meaning: 'this text' },
} as const satisfies Record<string, Option>

export const help = [
  'npm run bench -- [OPTION...]',
  ...Object.entries<Option>(options).map(([name, { value, default: preset, meaning }]) => {
    const unless = typeof preset === 'string' ? ` (${preset})` : ''
    return `  ${`--${name}${value ? ` ${value}` : ''}`.padEnd(22)}  ${meaning}${unless}`
  }),
].join('\n')
