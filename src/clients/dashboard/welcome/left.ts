const storeKey = 'sterna.welcome'

/** Whether the user left the set-up in this browser; the overview then no longer leads to it. */
export const hasLeftWelcome = (): boolean => localStorage.getItem(storeKey) === 'left'

export const leaveWelcome = (): void => localStorage.setItem(storeKey, 'left')
