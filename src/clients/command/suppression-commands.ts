import { SternaError } from '../../platform/errors.ts'
import type { suppression } from '../../api/resource/suppression-operations.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import { apiCommand } from './api-command.ts'
import { argument, deletedObject, listObject, printable, textOption, usageFault, type Command } from './command.ts'

type Suppression = ReturnType<typeof suppression.answer>

export const suppressionCommands: Command[] = [
  apiCommand<{ data: Suppression[] }>({
    name: 'suppression list',
    does: 'suppressions.list',
    sandbox: true,
    doc: 'Lists the addresses that get no mail from an account, the newest first, a page at a time.',
    columns: {
      ID: ({ id }) => id,
      EMAIL: ({ email }) => email,
      ORIGIN: ({ origin }) => origin,
      TOPIC: ({ topic }) => topic ?? '-',
      CREATED: ({ created_at: at }) => at,
      EXPIRES: ({ expires_at: at }) => at ?? '-',
      REASON: ({ reason }) => reason ?? '-',
    },
  }),
  apiCommand<Suppression | null>({
    name: 'suppression check',
    does: 'suppressions.get',
    args: { EMAIL: { field: 'idOrEmail', as: addressIn } },
    sandbox: true,
    doc: 'Says whether mail of an account to an address is suppressed, and why.',
    absent: () => null,
    show(found, { input }) {
      const email = addressIn(argument(input, 0))
      const json = { object: 'suppression_check', email, suppressed: found !== null, suppression: found }
      return { stdout: found ? `${email} is suppressed${reasonOf(found)}\n` : `${email} is not suppressed.\n`, json }
    },
  }),
  apiCommand<{ data: { object: string; id: string }[] }>({
    name: 'suppression add',
    does: 'suppressions.create_batch',
    args: { 'EMAIL…': 'emails' },
    sandbox: true,
    doc: 'Suppresses addresses: mail to them is accepted, but not sent. An address that is on the list already stays as it is.',
    show: ({ data }) => ({ stdout: data.map(({ id }) => `${id}\n`).join(''), json: listObject(data) }),
  }),
  apiCommand<{ id: string }>({
    name: 'suppression remove',
    does: 'suppressions.delete',
    args: { 'EMAIL|ID': 'idOrEmail' },
    sandbox: true,
    doc: 'Removes an entry by its id, or by address all that there are. From then on mail is sent to it again.',
    asks: (input) => `Remove ${argument(input, 0)} from the suppressions of ${textOption(input, 'account')}? Mail is sent to it again.`,
    absent(input) {
      throw new SternaError('not_found', `The account has no suppression of "${printable(argument(input, 0))}".`)
    },
    show: ({ id }, { input }) => ({
      stdout: `${id}\n`,
      json: deletedObject('suppression', id),
      stderr: `${argument(input, 0)} is no longer suppressed.\n`,
    }),
  }),
]

function reasonOf({ origin, topic, created_at: createdAt, expires_at: expiresAt, reason }: Suppression): string {
  const what = origin === 'unsubscribe' ? ` for mail ${topic === null ? 'with an unsubscribe link' : `of the topic ${topic}`}` : ''
  const until = expiresAt === null ? '' : ` until ${expiresAt}`
  return `${what}: ${origin}, since ${createdAt}${until}.${reason === null ? '' : ` ${printable(reason)}`}`
}

function addressIn(text: string): string {
  const parsed = parsePasted(text)
  if (parsed.ok) return parsed.address
  throw usageFault(`"${printable(text)}" is not an address. ${parsed.fault}`)
}
