/** Why an address is not written to. All but `unsubscribe` stop every message; that one stops mail that can be unsubscribed from. */
export const suppressionOrigins = ['bounce', 'complaint', 'manual', 'unsubscribe'] as const

export type SuppressionOrigin = (typeof suppressionOrigins)[number]
