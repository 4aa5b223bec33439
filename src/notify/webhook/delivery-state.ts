export const deliveryStates = ['pending', 'attempting', 'success', 'failed', 'canceled'] as const
/** `success`, `failed` and `canceled` are final. */
export type DeliveryState = (typeof deliveryStates)[number]
