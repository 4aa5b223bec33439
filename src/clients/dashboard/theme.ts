import { signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const key = 'sterna-theme'
const kept = localStorage.getItem(key)
export const theme = signal<Theme>(themeOf(kept))

/** For this browser, until another is chosen. */
export function chooseTheme(name: string): void {
  theme.value = themeOf(name)
}

function themeOf(name: string | null): Theme {
  return themes.find((known) => known === name) ?? 'system'
}

theme.subscribe((chosen) => {
  if (chosen === 'system') {
    delete document.documentElement.dataset['theme']
    localStorage.removeItem(key)
  } else {
    document.documentElement.dataset['theme'] = chosen
    localStorage.setItem(key, chosen)
  }
})
