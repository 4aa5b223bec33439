import type { BaseServices } from '../platform/base-services.ts'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { isPublicAddress } from '../platform/ip-address.ts'

/** What two machines seldom share, unless one is a clone of the other. */
export interface Machine {
  /** The content of `/etc/machine-id`, machine-id(5); null if there is none, as in a container. */
  id: string | null
  addresses: string[]
}

export const thisMachine = (): Machine => ({
  id: readMachineId('/etc/machine-id'),
  addresses: Object.values(networkInterfaces()).flatMap((each = []) =>
    each.flatMap(({ internal, address }) => (internal ? [] : [address])),
  ),
})

function readMachineId(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null
  } catch {
    return null
  }
}

const warning =
  'this is another machine than the one the server last ran on, or it has other addresses: if it is a clone or a snapshot, and the ' +
  'original runs on, both send the mail that was queued; stop one of them. docs/data-directory.md says how to clone a server'

/**
 * Compares the machine with that of the last start, and logs a warning if it seems to be another: its id differs, or it has none of the
 * addresses from then. That alone proves nothing, so nothing is held.
 */
export async function noteMachine({ db, log }: Pick<BaseServices, 'db' | 'log'>, machine = thisMachine()): Promise<void> {
  const id = machine.id === null ? null : createHash('sha256').update(`sterna ${machine.id}`).digest('hex')
  const addresses = comparable(machine)
  const [last] = await db.read<{ machine: string | null; addresses: string | null }>('select machine, addresses from last_place')
  const before = last?.addresses?.split(' ').filter(Boolean) ?? []
  const isOther = id !== null && last?.machine != null && id !== last.machine
  const isElsewhere = before.length > 0 && addresses.length > 0 && !before.some((address) => addresses.includes(address))
  if (isOther || isElsewhere) log.warn({ before, addresses, isOtherMachineId: isOther }, warning)
  if (last?.machine === id && before.join(' ') === addresses.join(' ')) return
  const sql = 'update last_place set machine = :id, addresses = :addresses'
  // The disk may be full. The next start notes it.
  await db.write([{ sql, params: { id, addresses: addresses.join(' ') } }]).catch(() => {})
}

/** A container has no id of its own, and another private address with each start. */
const comparable = ({ id, addresses }: Machine): string[] =>
  addresses.filter((address) => !address.startsWith('fe80:') && (id !== null || isPublicAddress(address))).toSorted()
