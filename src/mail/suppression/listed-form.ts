import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import type { Database } from '../../platform/store/database.ts'
import { erasedForms, type ErasedAddress } from './erased-address.ts'

/** Addresses per query. The statement's text depends on their number. */
const addressesAtOnce = 50

/**
 * The form in which to list each of these addresses: as it is, or its replacement if it was erased and is still listed. Otherwise importing
 * it again would restore what was erased.
 */
export async function listedForms(
  db: Pick<Database, 'read'>,
  { erasedAddress, ...scope }: AccountScope & { erasedAddress: ErasedAddress },
  addresses: string[],
): Promise<(address: string) => string> {
  const erased = new Set<string>()
  for (let start = 0; start < addresses.length; start += addressesAtOnce) {
    const forms = addresses.slice(start, start + addressesAtOnce).flatMap((address) => erasedForms(erasedAddress, address))
    const rows = await db.read<{ address: string }>(
      `select address from suppression
        where account_id = :accountId and sandbox = :sandbox and address in (${forms.map((_, place) => `:a${place}`).join(', ')})`,
      { ...scopeParams(scope), ...Object.fromEntries(forms.map((form, place) => [`a${place}`, form])) },
    )
    for (const { address } of rows) erased.add(address)
  }
  return (address) => erasedForms(erasedAddress, address).find((form) => erased.has(form)) ?? address
}
