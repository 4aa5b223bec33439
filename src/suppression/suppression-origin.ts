/** Why an address gets no mail. All but `unsubscribe` stop every message; that one stops mail that can be unsubscribed from. */
export const suppressionOrigins = ['bounce', 'complaint', 'manual', 'unsubscribe'] as const

export type SuppressionOrigin = (typeof suppressionOrigins)[number]
