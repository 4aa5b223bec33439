import { signal } from '@preact/signals'

const key = 'sterna-shortcuts'

/** Whether single keys do something on a page. Some people's speech input or tremor presses them unasked (WCAG 2.1.4). */
export const shortcutsAreOn = signal(localStorage.getItem(key) !== 'off')

/** For this browser. */
export function turnShortcuts(on: boolean): void {
  shortcutsAreOn.value = on
  if (on) localStorage.removeItem(key)
  else localStorage.setItem(key, 'off')
}
