/**
 * An address in the form of the list. Addresses are compared in lower case as a whole: providers treat local parts so, whatever RFC 5321
 * allows. Non-ASCII letters stay unchanged, because the databases' `lower` ignores them.
 */
export const suppressionAddress = (address: string): string => address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
