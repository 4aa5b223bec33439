import { apiClients, features, limits } from '../test/peer/api-clients/clients.ts'
import { withMadePart } from './made-part.ts'

/** The page with the table of clients that the peer tests send with. */
export const withClientTable = (page: string): string =>
  withMadePart(page, 'test/peer/api-clients/clients.ts', `${table()}\n\n${refusals()}`)

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
