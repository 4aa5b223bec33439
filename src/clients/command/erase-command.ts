import { SternaError } from '../../platform/errors.ts'
import { erasedThings } from '../../upkeep/erasure/erasing.ts'
import type { Erasure } from '../../upkeep/erasure/erasures.ts'
import { erasure as erasureResource } from '../../api/resource/erasure-operations.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import { argument, table, textOption, type Command } from './command.ts'

export const eraseCommands: Command[] = [
  {
    name: 'erase',
    args: ['ADDRESS'],
    options: {
      account: { type: 'string', value: 'ACCOUNT', doc: 'Name or id of the account whose data to erase; default: all accounts.' },
    },
    doc:
      'Forgets a recipient everywhere, and prints how much it erased. It cancels mail that waits for the address, removes content, ' +
      'and replaces the address with one at erased.invalid in whatever stays. A suppression stays in force without the address. ' +
      'Erased data cannot be restored, except from backups: see docs/privacy.md.',
    asks: (input) => `Erase ${argument(input, 0)} from ${textOption(input, 'account') ?? 'all accounts'}? This cannot be undone.`,
    async run(input, { accounts, erasures }) {
      const address = parsePasted(argument(input, 0))
      if (!address.ok) throw new SternaError('validation_error', `This is not an address. ${address.fault}`)
      const account = textOption(input, 'account')
      const accountId = account === undefined ? null : accounts.getAccount(account).id
      const { id } = await erasures.begin(address, { accountId, sandboxOnly: false })
      await erasures.finished(id)
      const erasure = await erasures.find(id, null)
      if (!erasure?.finishedAt)
        throw new SternaError('service_unavailable', `The erasure ${id} was interrupted. A running server resumes it within a minute.`)
      return { stdout: table(countsOf(erasure)), json: erasureResource.answer(erasure), stderr: remarkOn(erasure), objectId: id }
    },
  },
]

const countsOf = ({ counts }: Erasure): string[][] => [
  ['ERASED', 'ROWS'],
  ...erasedThings.filter((thing) => thing !== 'contents_waiting').map((thing) => [thing.replaceAll('_', ' '), String(counts[thing])]),
]

function remarkOn({ counts, left }: Erasure): string {
  const waiting = counts.contents_waiting
  const remark = `${left ?? 'Backups made before still contain it.'}\n`
  return waiting === 0 ? remark : `The content of ${waiting} emails is removed once nobody else waits for them. ${remark}`
}
