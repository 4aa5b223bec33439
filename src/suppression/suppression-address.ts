/**
 * An address as it stands on the list. Addresses are compared in lower case as a whole: providers treat local parts so,
 * whatever RFC 5321 allows. Letters beyond ASCII stay as they are, because the databases' `lower` leaves them alone.
 */
export const suppressionAddress = (address: string): string => address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
