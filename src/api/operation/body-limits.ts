/** bytes; 25 MiB of message in base64, plus some room */
export const bodyLimit = 35 * 1024 * 1024
/** bytes; what an operation takes unless it declares another limit: parsing much more keeps everybody waiting */
export const standardBodyLimit = 64 * 1024
/** bytes; nobody may make the server read much before they log in */
export const smallBodyLimit = 16 * 1024

/** A limit in words. */
export const sizeText = (bytes: number): string => (bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`)
