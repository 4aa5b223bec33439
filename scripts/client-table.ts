import { apiClients, features, limits } from '../test/peer/api-clients/clients.ts'

const [start, end] = ['<!-- Made by `npm run docs` from test/peer/api-clients/clients.ts -->', '<!-- The end of what is made -->']

/** The page with the table of clients that the peer tests send with, in the place of the one that it has. */
export function withClientTable(page: string): string {
  const [before, rest] = page.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error('docs/migrating.md has lost the place of its table of clients')
  return `${before}${start}\n\n${table()}\n\n${refusals()}\n\n${end}${after}`
}

const row = (cells: string[]): string => `| ${cells.join(' | ')} |`

function table(): string {
  const names = Object.entries(features)
  return [
    row(['client', 'version', 'set it up', ...names.map(([, name]) => name)]),
    row(['---', '---', '---', ...names.map(() => ':-:')]),
    ...apiClients.map(({ name, version, setup, can }) =>
      row([name, numberOf(version), setup, ...names.map(([feature]) => (can.some((one) => one === feature) ? 'yes' : ''))]),
    ),
  ].join('\n')
}

const numberOf = (version: string): string => version.replace(/\.$/, '')

const refusals = (): string =>
  Object.entries(limits)
    .map(([limit, what]) => {
      const clients = apiClients.filter(({ cannot }) => cannot?.some((one) => one === limit))
      return `- Refused here: ${what} (${clients.map(({ name, version }) => `${name} ${numberOf(version)}`).join('; ')}).`
    })
    .join('\n')
