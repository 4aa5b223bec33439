import { resolve } from 'node:path'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { topicFault } from '../../mail/message/send-limits.ts'
import { exportShapes } from '../../mail/suppression/export-shape.ts'
import { importSuppressions, type ImportResult } from '../../mail/suppression/import-suppressions.ts'
import { suppressionOrigins } from '../../mail/suppression/suppression-origin.ts'
import {
  accountOption as account,
  argument,
  flagOption,
  printable,
  requiredOption,
  textOption,
  type Command,
  type CommandInput,
} from './command.ts'

const services = Object.keys(exportShapes)

export const importCommands: Command[] = [
  {
    name: 'import suppressions',
    args: ['FILE'],
    options: {
      account,
      from: { type: 'string', value: 'SERVICE', doc: 'The service that exported the file.', choices: services, required: true },
      origin: {
        type: 'string',
        value: 'ORIGIN',
        doc: 'The origin of all entries, whatever the file says.',
        choices: suppressionOrigins,
      },
      topic: {
        type: 'string',
        value: 'TOPIC',
        doc:
          'The topic that these people unsubscribed from, unless the file says it, as in `unsubscribe: {topic}`; default: mail sent with ' +
          '`unsubscribe: true`.',
      },
      sandbox: { type: 'boolean', doc: "Imports into the sandbox's list." },
    },
    doc:
      "Imports suppressions from another service or from another Sterna (`sterna`), from its export or its API's responses, CSV or " +
      'JSON. It keeps times and reasons and leaves existing entries unchanged, so you can run it again. It prints how many entries it ' +
      'imported, and by line why it refused others; it exits with an error if it refused any.',
    async run(input, { accounts, db, clock, erasedAddress }) {
      const { id: accountId } = accounts.getAccount(requiredOption(input, 'account'))
      const report = await importSuppressions(
        { db, clock, erasedAddress },
        {
          scope: { accountId, sandbox: flagOption(input, 'sandbox') },
          file: resolve(input.cwd, argument(input, 0)),
          shape: exportShapes[requiredOption(input, 'from') as keyof typeof exportShapes],
          origin: suppressionOrigins.find((known) => known === textOption(input, 'origin')) ?? null,
          topic: topicOf(input),
        },
      )
      const { imported, known, refused, broken } = report
      return {
        stdout: `imported ${imported}, already there ${known}, refused ${refused}\n`,
        json: importObject(report),
        stderr: complaints(report),
        exitCode: refused > 0 || broken ? 1 : 0,
      }
    },
  },
]

function topicOf(input: CommandInput): string {
  const topic = textOption(input, 'topic')
  if (topic === undefined) return ''
  const fault = topicFault(topic)
  if (fault === null) return topic
  throw new SternaError('validation_error', fault)
}

const importObject = ({ imported, known, refused, refusals, broken }: ImportResult): object => ({
  object: 'suppression_import',
  imported,
  known,
  refused,
  refusals,
  fault: broken ? messageOf(broken) : null,
})

function complaints({ refused, refusals, broken }: ImportResult): string {
  const lines = refusals.map(({ line, reason }) => `line ${line}: ${printable(reason)}`)
  if (refused > refusals.length) lines.push(`and ${refused - refusals.length} more`)
  if (broken) lines.push(`sterna: ${printable(messageOf(broken))}`)
  return lines.map((line) => `${line}\n`).join('')
}
