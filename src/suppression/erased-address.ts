import { createHmac } from 'node:crypto'
import { suppressionAddress } from './suppression-address.ts'

/** The domain of what stands in the place of erased addresses. It never exists (RFC 6761 6.4). */
export const erasedDomain = 'erased.invalid'

/**
 * What stands in the place of an address that was erased: an address too, so that it fits wherever one is shown. It is always the
 * same for one address, so what was suppressed stays so; without the key file nobody finds out whose it is.
 */
export type ErasedAddress = (address: string) => string

/** hex digits: 160 bits */
const digits = 40

/** @param key of 32 bytes */
export const erasedAddressBy =
  (key: Uint8Array): ErasedAddress =>
  (address) =>
    `${createHmac('sha256', key).update(suppressionAddress(address)).digest('hex').slice(0, digits)}@${erasedDomain}`

export const isErasedAddress = (address: string): boolean => address.endsWith(`@${erasedDomain}`)
