import { scopeParams, type AccountScope } from '../account/account-scope.ts'
import type { Database } from '../store/database.ts'
import type { ErasedAddress } from './erased-address.ts'

/** One look-up asks for so many addresses at most; the text of the statement depends on their number. */
const addressesAtOnce = 50

/**
 * The form in which each of these addresses is to be put on the list: as it is, or, where it was erased and is still on it, as
 * that has it. Otherwise whoever repeats an import would bring back what was to be forgotten.
 */
export async function listedForms(
  db: Pick<Database, 'read'>,
  { erasedAddress, ...scope }: AccountScope & { erasedAddress: ErasedAddress },
  addresses: string[],
): Promise<(address: string) => string> {
  const erased = new Set<string>()
  for (let start = 0; start < addresses.length; start += addressesAtOnce) {
    const forms = addresses.slice(start, start + addressesAtOnce).map((address) => erasedAddress(address))
    const rows = await db.read<{ address: string }>(
      `select address from suppression
        where account_id = :accountId and sandbox = :sandbox and address in (${forms.map((_, place) => `:a${place}`).join(', ')})`,
      { ...scopeParams(scope), ...Object.fromEntries(forms.map((form, place) => [`a${place}`, form])) },
    )
    for (const { address } of rows) erased.add(address)
  }
  return (address) => {
    const form = erasedAddress(address)
    return erased.has(form) ? form : address
  }
}
