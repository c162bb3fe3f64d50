"""Signing in, and changing one's own password."""

from __future__ import annotations

from django import forms


class SignInForm(forms.Form):
    username = forms.CharField(
        label="Name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True})
    )
    password = forms.CharField(
        strip=False, max_length=1000, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class ChangePasswordForm(forms.Form):
    current = forms.CharField(
        label="Current password",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    password = forms.CharField(
        label="New password",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least ten characters; not a common one.",
    )
    again = forms.CharField(
        label="New password again",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_again(self) -> str:
        again: str = self.cleaned_data["again"]
        if again != self.cleaned_data.get("password"):
            raise forms.ValidationError("The two new passwords differ.")
        return again
