/**
 * What a reply says about more than its own message, so about other mail to that provider. `slow_down`: less mail a minute;
 * `fewer_connections`, and `shorter_connections` with fewer messages each; `rest_address`: none from the same IP address for a while;
 * `pause_domain`: none of the same sending domain for a while.
 */
export const wideEffects = ['slow_down', 'fewer_connections', 'shorter_connections', 'rest_address', 'pause_domain'] as const
export type WideEffect = (typeof wideEffects)[number]
