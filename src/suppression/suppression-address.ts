/**
 * The form of an address in the list: lower case as a whole, because providers ignore the case of local parts, whatever RFC 5321 allows.
 * Non-ASCII letters are unchanged, because the databases' `lower` ignores them.
 */
export const suppressionAddress = (address: string): string => address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
