"""Pages of the catalog."""

from django.urls import path

from apps.dashboard.views.catalog import claims, nouns, prices

urlpatterns = [
    path("catalog", claims.first_page, name="catalog"),
    path("catalog/unclaimed", claims.unclaimed, name="catalog-unclaimed"),
    path("catalog/claim", claims.claim, name="catalog-claim"),
    path("catalog/history", claims.history, name="catalog-history"),
    path("catalog/prices", prices.price_list, name="catalog-prices"),
    path("catalog/prices/<int:price_id>/remove", prices.remove, name="catalog-price-remove"),
    path("catalog/prices/<str:kind>", prices.set_price, name="catalog-price"),
    path("catalog/<str:section>", nouns.section_page, name="catalog-section"),
    path("catalog/<str:section>/new", nouns.create, name="catalog-new"),
    path("catalog/<str:section>/<int:noun_id>", nouns.edit, name="catalog-noun"),
    path("catalog/<str:section>/<int:noun_id>/labels", nouns.add_label, name="catalog-label"),
    path(
        "catalog/<str:section>/<int:noun_id>/labels/<int:alias_id>/remove",
        nouns.remove_label,
        name="catalog-label-remove",
    ),
    path("catalog/<str:section>/<int:noun_id>/merge", nouns.merge, name="catalog-merge"),
]
