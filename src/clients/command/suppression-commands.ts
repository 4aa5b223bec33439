import { suppression } from '../../api/http/api/suppression-operations.ts'
import { listBody } from '../../api/operation/page.ts'
import { SternaError } from '../../platform/errors.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import { SuppressionEntries, type SuppressionRow } from '../../mail/suppression/suppression-entries.ts'
import { suppressionOrigins } from '../../mail/suppression/suppression-origin.ts'
import { pageIn, pageOptions, scopeOf, scopeOptions } from './command-scope.ts'
import { argument, deletedObject, listObject, printable, shownTime, table, textOption, usageFault, type Command } from './command.ts'

export const suppressionCommands: Command[] = [
  {
    name: 'suppression list',
    reads: true,
    args: [],
    options: {
      ...scopeOptions,
      origin: { type: 'string', value: 'ORIGIN', doc: 'Only those of this origin.', choices: suppressionOrigins },
      ...pageOptions,
    },
    doc: 'Lists the addresses that get no mail from an account, the newest first, a page at a time.',
    async run(input, services) {
      const scope = scopeOf(input, services)
      const page = pageIn(input)
      const origins = suppressionOrigins.filter((each) => each === (textOption(input, 'origin') ?? each))
      const rows = await new SuppressionEntries(services).page(scope, { origins }, page)
      const json = listBody(rows, page, suppression.answer)
      const cells = rows.slice(0, page.limit).map(cellsOf)
      return { stdout: table([heading, ...cells]), json, stderr: json.has_more ? `More: --after ${json.data.at(-1)?.id}\n` : '' }
    },
  },
  {
    name: 'suppression check',
    reads: true,
    args: ['EMAIL'],
    options: scopeOptions,
    doc: 'Says whether mail of an account to an address is suppressed, and why.',
    async run(input, services) {
      const email = addressIn(argument(input, 0))
      const row = await new SuppressionEntries(services).find(scopeOf(input, services), email)
      const json = { object: 'suppression_check', email, suppressed: row !== undefined, suppression: row ? suppression.answer(row) : null }
      return { stdout: row ? `${email} is suppressed${reasonOf(row)}\n` : `${email} is not suppressed.\n`, json }
    },
  },
  {
    name: 'suppression add',
    args: ['EMAIL…'],
    options: { ...scopeOptions, reason: { type: 'string', value: 'TEXT', doc: 'Why it is suppressed, for people to read.' } },
    doc: 'Suppresses addresses: mail to them is accepted, but not sent. An address that is on the list already stays as it is.',
    async run(input, services) {
      const addresses = input.args.map(addressIn)
      const ids = await new SuppressionEntries(services).add(scopeOf(input, services), addresses, {
        reason: textOption(input, 'reason') ?? null,
      })
      return { stdout: ids.map((id) => `${id}\n`).join(''), json: listObject(ids.map((id) => ({ object: 'suppression', id }))) }
    },
  },
  {
    name: 'suppression remove',
    args: ['EMAIL|ID'],
    options: scopeOptions,
    doc: 'Removes an entry by its id, or by address all that there are. From then on mail is sent to it again.',
    asks: (input) => `Remove ${argument(input, 0)} from the suppressions of ${textOption(input, 'account')}? Mail is sent to it again.`,
    async run(input, services) {
      const what = argument(input, 0)
      const id = await new SuppressionEntries(services).remove(scopeOf(input, services), what)
      if (id === undefined) throw new SternaError('not_found', `The account has no suppression of "${printable(what)}".`)
      return { stdout: `${id}\n`, json: deletedObject('suppression', id), stderr: `${what} is no longer suppressed.\n`, objectId: id }
    },
  },
]

const heading = ['ID', 'EMAIL', 'ORIGIN', 'TOPIC', 'CREATED', 'EXPIRES', 'REASON']

const cellsOf = ({ id, address, origin, topic, created_at: createdAt, expires_at: expiresAt, reason }: SuppressionRow): string[] => [
  id,
  printable(address),
  origin,
  topic === '' ? '-' : topic,
  shownTime(createdAt),
  shownTime(expiresAt),
  printable(reason ?? '-'),
]

function reasonOf({ origin, topic, created_at: createdAt, expires_at: expiresAt, reason }: SuppressionRow): string {
  const what = origin === 'unsubscribe' ? ` for mail ${topic === '' ? 'with an unsubscribe link' : `of the topic ${topic}`}` : ''
  const until = expiresAt === null ? '' : ` until ${shownTime(expiresAt)}`
  return `${what}: ${origin}, since ${shownTime(createdAt)}${until}.${reason === null ? '' : ` ${printable(reason)}`}`
}

function addressIn(text: string): string {
  const parsed = parsePasted(text)
  if (parsed.ok) return parsed.address
  throw usageFault(`"${printable(text)}" is not an address. ${parsed.fault}`)
}
