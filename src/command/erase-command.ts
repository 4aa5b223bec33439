import { SternaError } from '../errors.ts'
import { erasedThings } from '../erasure/erasing.ts'
import type { Erasure } from '../erasure/erasures.ts'
import { parseAddress } from '../smtp/address.ts'
import { argument, table, textOption, type Command } from './command.ts'

export const eraseCommands: Command[] = [
  {
    name: 'erase',
    args: ['ADDRESS'],
    options: {
      account: { type: 'string', value: 'ACCOUNT', doc: "Name or id of the account whose data is meant; everybody's if left out." },
    },
    doc:
      'Forgets a recipient everywhere, and prints how much that was: mail to it that waits is canceled, content is removed, and in ' +
      'what stays an address at erased.invalid stands in its place. A suppression goes on without the address. What is erased ' +
      'cannot be brought back, but from backups: see docs/privacy.md.',
    async run(input, { accounts, erasures }) {
      const address = parseAddress(argument(input, 0))
      if (!address.ok) throw new SternaError('validation_error', `This is not an address. ${address.fault}`)
      const account = textOption(input, 'account')
      const accountId = account === undefined ? null : accounts.getAccount(account).id
      const { id } = await erasures.begin(address, { accountId, sandboxOnly: false })
      await erasures.finished(id)
      const erasure = await erasures.find(id, null)
      if (!erasure?.finishedAt)
        throw new SternaError(
          'service_unavailable',
          `The erasure ${id} was cut short; it is taken up again within a minute of a server's running.`,
        )
      return { stdout: table(countsOf(erasure)), stderr: remarkOn(erasure), objectId: id }
    },
  },
]

const countsOf = ({ counts }: Erasure): string[][] => [
  ['ERASED', 'ROWS'],
  ...erasedThings.filter((thing) => thing !== 'contents_waiting').map((thing) => [thing.replaceAll('_', ' '), String(counts[thing])]),
]

function remarkOn({ counts }: Erasure): string {
  const waiting = counts.contents_waiting
  const remark = 'Backups made before still hold it.\n'
  return waiting === 0 ? remark : `The content of ${waiting} emails goes when nobody else waits for them any more. ${remark}`
}
