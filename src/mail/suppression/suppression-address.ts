import { comparedAddress } from '../../platform/smtp/address.ts'

/** The form of an address in the list. */
export const suppressionAddress = comparedAddress
