/** Why an address gets no mail. `unsubscribe` stops only mail that can be unsubscribed from; the others stop all mail. */
export const suppressionOrigins = ['bounce', 'complaint', 'manual', 'unsubscribe'] as const

export type SuppressionOrigin = (typeof suppressionOrigins)[number]
